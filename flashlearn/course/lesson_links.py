"""Links between lessons: a line at both ends of each notebook with the previous and the next lesson.

    [← 06 FlashAttention forward](06_flash_forward.ipynb) · [08 dK and dV →](08_dk_dv.ipynb)

Only names are read, from the text of the sources.
"""

from __future__ import annotations

from pathlib import Path

from flashlearn.course.lesson_reader import SOURCE, Lesson, read_source


def links(source: Path) -> str:
    """The line for the lesson whose source is at `source`, in Markdown: the lessons before and after it.

    Links lead to notebooks in the same folder, be it notebooks/, solutions/ or a learner's work/.
    """
    paths = sorted(source.parents[1].glob(f"lesson_[0-9][0-9]_*/{SOURCE}"))
    at = paths.index(source)
    before = _link(paths[at - 1], "← {}") if at else "This is the first lesson"
    if at + 1 < len(paths):
        return f"{before} · {_link(paths[at + 1], '{} →')}"
    return f"{before} · Lesson {int(_lesson(source).number) + 1:02} does not exist yet"


def _link(source: Path, words: str) -> str:
    lesson = _lesson(source)
    return f"[{words.format(f'{lesson.number} {lesson.title}')}]({lesson.stem}.ipynb)"


def _lesson(source: Path) -> Lesson:
    return read_source(source, source.parent.name.removeprefix("lesson_"))
