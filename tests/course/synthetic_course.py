"""A tiny course for tests: notebooks whose checks are stood in for by verdicts they write themselves."""

from __future__ import annotations

import json
from pathlib import Path

from flashlearn.course.files import Course

# what flashlearn.course.progress.append_verdict does, without waiting for the package's imports
IMPORTS = """
import json, os

def append_verdict(verdict):
    with open(os.environ["FLASHLEARN_VERDICTS"], "a") as file:
        file.write(json.dumps(verdict) + "\\n")
"""


def verdict(name: str, status: str = "PASS", sentence: str = "All cases pass.") -> str:
    """Source of a cell that records what `flashlearn.check` would have."""
    entry = {"exercise": name, "status": status, "passed": status == "PASS", "sentence": sentence}
    return f"append_verdict({entry!r})"


def notebook(*sources: str, title: str = "A lesson", ids: dict[int, str] | None = None) -> str:
    """A notebook's text: a title, the import, then one code cell for each source; `ids` by their index."""
    ids = ids or {}
    cells = [{"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {title}\n\nProse."}]
    for index, source in enumerate((IMPORTS, *sources), start=-1):
        cells.append(
            {
                "cell_type": "code",
                "id": ids.get(index, f"cell-{index + 1}"),
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
        )
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def lesson(*exercises: str, status: str = "PASS", title: str = "A lesson") -> str:
    """A lesson in which each exercise has its cell, and a check's cell after it that says `status`."""
    pairs = [(f"def {name}(x):\n    return x", verdict(name, status)) for name in exercises]
    sources = [text for pair in pairs for text in pair]
    return notebook(*sources, title=title, ids={2 * i: f"ex-{name}" for i, name in enumerate(exercises)})


def make_course(folder: Path, lessons: dict[str, str]) -> Course:
    """A course in `folder` with these notebooks by stem."""
    course = Course(folder)
    for name in ("notebooks", "solutions"):
        (folder / name).mkdir(parents=True)
        for stem, text in lessons.items():
            (folder / name / f"{stem}.ipynb").write_text(text, encoding="utf-8")
    return course
