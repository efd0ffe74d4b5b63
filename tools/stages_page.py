"""Writes the list of stages into docs/how-a-mistake-is-named.md, from flashlearn/explaining.

    .venv/bin/python tools/stages_page.py

The list is what lies between the two markers; the rest of the page is written by hand. A test fails where the
page is not up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from flashlearn.explaining.formulas import FORMULAS
from flashlearn.explaining.pipeline import ENDED_EARLY, NAMING, PROOFS, REFINEMENTS
from flashlearn.explaining.stage import Stage

PAGE = Path(__file__).parent.parent / "docs" / "how-a-mistake-is-named.md"
BEGIN, END = "<!-- stages: written by tools/stages_page.py -->", "<!-- end of the stages -->"
WIDTH = 110

GROUPS: tuple[tuple[str, str, Sequence[Stage]], ...] = (
    ("Wrong numbers: proofs", "The first stage that finds something ends the search.", PROOFS),
    ("Wrong numbers: names", "They are tried in order until one finds something.", NAMING),
    ("Wrong numbers: refinements", "Each may add to the finding, or replace it.", REFINEMENTS),
    ("A case that ended early", "The first stage reports it; the others may add to that.", ENDED_EARLY),
    ("Formulas", "They are tried in order until one finds something.", FORMULAS),
)
"""The stages in groups: a title, how they are asked, and the stages in their order."""


def listed() -> str:
    """The list of stages in Markdown."""
    return "\n".join(line for group in GROUPS for line in _group(*group))


def _group(title: str, asked: str, stages: Sequence[Stage]) -> Iterator[str]:
    yield from (f"### {title}", "", asked, "")
    for number, stage in enumerate(stages, 1):
        budget = f" Budget: {stage.budget}." if stage.budget else ""
        text = f"{number}. **{stage.name}**: {stage.description}{budget}"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="   ", break_long_words=False)
    yield ""


def updated(page: str) -> str:
    """The page with the list as it should be. Raises ValueError if a marker is missing."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{listed()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
    print(f"wrote {PAGE}")
