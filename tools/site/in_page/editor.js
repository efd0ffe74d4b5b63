// The editor: Python in the site's colours, Tab indents, Ctrl+Enter checks.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], class: "solve-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "solve-string" },
  { tag: [tags.comment], class: "solve-comment" },
  { tag: [tags.number, tags.bool, tags.null], class: "solve-number" },
  { tag: [tags.function(tags.definition(tags.variableName))], class: "solve-name" },
]);

export function editor(parent, text, label, { changed, check }) {
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentUnit.of("    "),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        python(),
        syntaxHighlighting(colours),
        keymap.of([
          { key: "Mod-Enter", run: () => (check(), true) },
          { key: "Shift-Enter", run: () => (check(), true) },
          ...defaultKeymap,
          ...historyKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
}

export function put(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}
