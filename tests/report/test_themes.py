"""Colours come from the editor's theme: JupyterLab's variables first, then VS Code's, then the page's own."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "flashlearn"
SHOWN = [path for kind in ("css", "j2", "js") for path in sorted(PACKAGE.rglob(f"*.{kind}"))]


def test_every_colour_and_font_of_jupyterlab_has_vs_code_s_after_it():
    used = [found for path in SHOWN for found in re.findall(r"var\(--jp-[\w-]+(.{0,12})", path.read_text())]
    assert used and all(rest.startswith(", var(--vscode-"[:12]) for rest in used), used
    assert "var(--vscode-editor-foreground, inherit)" in (PACKAGE / "report/templates/card.css").read_text()


def test_no_text_has_a_fixed_dark_or_light_colour_of_its_own():
    css = (PACKAGE / "report/templates/card.css").read_text() + (
        PACKAGE / "tracing/templates/trace.css"
    ).read_text()
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", css)
    fixed = [
        name.strip() for name, body in rules if re.search(r"(?<![\w-])color: *(#|rgb|black|white)", body)
    ]
    on_a_tone = {name for name, body in rules if "background" in body}
    assert all(any(name == other.strip() for other in on_a_tone) for name in fixed), fixed
