"""Notebooks as HTML that needs no script and no network: formulas are MathML, which browsers draw.

    jupyter nbconvert --to html-offline 06_flash_forward.ipynb

JupyterLab offers it under File → Save and Export Notebook As. What cannot be converted stays as it was typed.
"""

from __future__ import annotations

import re
from typing import Any

from jinja2 import pass_context
from latex2mathml import converter
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode

FENCED = r"^[ ]{0,3}(?P<fence>```+|~~~+).*?^[ ]{0,3}(?P=fence)[^\n]*$"
QUOTED = r"(?P<tick>`+)(?!`).*?(?<!`)(?P=tick)(?!`)"
BLOCK = r"\$\$(?P<block>.+?)\$\$"
INLINE = r"(?<![\\$])\$(?![\s$])(?P<inline>(?:[^$\n\\]|\\.|\n(?!\n))+?)(?<!\s)\$(?![\d$])"
PARTS = re.compile(f"(?P<code>{FENCED}|{QUOTED})|{BLOCK}|{INLINE}", re.DOTALL | re.MULTILINE)
MATHJAX = r"<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->"
SCRIPT = re.compile(rf"{MATHJAX}|<script\b[^>]*\bsrc=[^>]*>\s*</script>", re.DOTALL)


class OfflineHTMLExporter(HTMLExporter):
    """nbconvert's HTML, with MathML in place of MathJax, and without scripts from elsewhere."""

    export_from_notebook = "HTML without scripts"

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Markdown as HTML; formulas are kept out of it, since their characters mean something there too."""
        formulas: list[str] = []

        def taken_out(found: re.Match[str]) -> str:
            if found["code"]:
                return found[0]
            formula, display = (found["block"], "block") if found["block"] else (found["inline"], "inline")
            formulas.append(mathml(formula, display) or found[0])
            return f"formula{len(formulas) - 1}place"

        shown = HTMLExporter.markdown2html(self, context, PARTS.sub(taken_out, source))
        return re.sub(r"formula(\d+)place", lambda found: formulas[int(found[1])], str(shown))

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kwargs: Any) -> tuple[str, Any]:
        """The page, and nbconvert's resources."""
        for cell in nb.cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                latex = "".join(data.get("text/latex", ""))
                if latex and "text/html" not in data and (shown := mathml(latex.strip("$ \n"), "block")):
                    data["text/html"] = shown
        page, resources = super().from_notebook_node(nb, resources, **kwargs)
        return SCRIPT.sub("", page), resources


def mathml(formula: str, display: str = "inline") -> str:
    """A TeX formula as a `<math>` element; "" for one that cannot be converted."""
    try:
        return converter.convert(formula.strip(), display=display)
    except Exception:  # a formula may be anything: it stays as it was typed
        return ""
