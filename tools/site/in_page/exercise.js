// An exercise that is solved in the page: its editor, Check, Hint and Reset, and the report.
import { editor, put } from "./editor.js";
import { keep, kept } from "./kept.js";
import * as python from "./python.js";

function button(text, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", pressed);
  return made;
}

function element(tag, className, attributes = {}) {
  const made = Object.assign(document.createElement(tag), { className });
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function listing(text, className) {
  const made = element("pre", className, { tabindex: "0" });
  made.textContent = text;
  return made;
}

function reason(error) {
  if (!(error instanceof python.Stopped)) return `Python could not be loaded: ${error.message}. Check tries again.`;
  const why = error.message && ` after ${error.message}: is there a loop without an end?`;
  return `The check was stopped${why || "."} Python starts anew with the next check.`;
}

// Put the editor in the place of the stub, and the buttons into the bar below it.
export function open(place, bar) {
  const name = place.dataset.exercise;
  const shown = place.querySelector("pre");
  const stub = shown.textContent.trimEnd() + "\n";
  const hints = [...document.querySelectorAll(`.hints[data-exercise="${name}"] > details`)];
  const report = element("div", "solve-report");
  const status = element("span", "solve-note", { role: "status" });
  const box = element("div", "solve-editor");
  let checking = false;

  const check = async () => {
    if (checking) return;
    checking = true;
    main.textContent = "Stop";
    status.textContent = "Checking …";
    try {
      const found = await python.check(name, view.state.doc.toString(), Number(place.dataset.limit));
      report.innerHTML = found.report;
      if (found.problem) report.prepend(listing(found.problem, "solve-problem"));
      if (found.printed) report.prepend(listing(found.printed, "solve-printed"));
      if (found.passed) keep(name, { passed: true });
      status.textContent = found.passed ? "✓ Passed. Your answer stays in this browser." : "";
    } catch (error) {
      report.replaceChildren();
      status.textContent = reason(error);
    }
    checking = false;
    main.textContent = "Check";
  };
  const hint = () => {
    const next = hints.find((one) => !one.open);
    if (next) {
      next.open = true;
      next.scrollIntoView({ block: "nearest" });
    } else status.textContent = "All hints are open. The solution is folded below them.";
  };
  const reset = () => {
    put(view, stub);
    keep(name, { answer: undefined });
    report.replaceChildren();
    status.textContent = "Here is the stub again; Ctrl+Z brings your answer back.";
    view.focus();
  };

  const main = button("Check", () => (checking ? python.stop() : check()));
  main.className = "solve-main";
  main.title = "Ctrl+Enter";
  bar.replaceChildren(main, button("Hint", hint), button("Reset", reset), status);
  bar.before(box);
  bar.after(report);
  shown.closest("div[class*=highlight-]").hidden = true;

  const view = editor(box, kept(name).answer ?? stub, `Your answer to ${name}. Escape, then Tab leaves the editor.`, {
    changed: (text) => keep(name, { answer: text }),
    check,
  });
  view.focus();
  python.listen(({ kind, text }) => {
    if (kind === "loading") status.textContent = text;
    else if (kind === "ready") status.textContent = checking ? "Checking …" : "Python is ready: Ctrl+Enter checks.";
    else if (kind === "failed" && !checking) status.textContent = reason(new Error(text));
  });
  python.start();
}
