"""The solution of an exercise, in the lesson's own words: its code, the three hints, and what to notice.

>>> flashlearn.solution("dq_kernel")                    # as the last line of a cell: shown, and recorded
>>> flashlearn.solution("dq_kernel", anyway=True)       # before a first attempt
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.course import packaged_lessons
from flashlearn.course.files import EXERCISE_CELL
from flashlearn.course.hints import STEPS
from flashlearn.course.lesson_reader import CourseError
from flashlearn.course.progress import Progress

if TYPE_CHECKING:
    from flashlearn.course.authoring.source import Cell
    from flashlearn.exercise import Exercise

_MARKERS = re.compile(r"^[ \t]*(# STUB:.*|### BEGIN SOLUTION|### END SOLUTION)[ \t]*(\n|\Z)", re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_NOTICE = re.compile(r"<details><summary><b>What to notice</b></summary>\n\n(.+?)\n\n</details>", re.DOTALL)


@dataclass(frozen=True)
class Solution:
    """An exercise's solution; `code` is empty where it was not shown, since nothing was tried yet.

    `hints` are all three, `notice` is the lesson's remark right after the exercise (not every lesson has
    one), and `section` the heading that it is under in lesson number `lesson`.
    """

    exercise: str
    title: str
    code: str
    hints: tuple[str, ...] = ()
    notice: str = ""
    section: str = ""
    lesson: str = ""

    @property
    def shown(self) -> bool:
        """Whether the solution was given."""
        return bool(self.code)

    def __str__(self) -> str:
        if not self.shown:
            return f"Not yet. {_withheld(self.exercise)}"
        hints = [f"{number}. ({step}) {hint}" for number, (step, hint) in self._numbered()]
        parts = [
            f"The solution of {self.exercise}: {self.title}",
            self.code,
            "\n".join(["The three hints that lead there:", *hints]),
            f"What to notice:\n{self.notice}" if self.notice else "",
            self._where(),
        ]
        return "\n\n".join(filter(None, parts))

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        """Markdown, so that Jupyter colours the code and sets the formulas."""
        if not self.shown:
            return f"**Not yet.** {_withheld(self.exercise)}"
        hints = [f"{number}. *{step.capitalize()}.* {hint}" for number, (step, hint) in self._numbered()]
        parts = [
            f"**The solution of `{self.exercise}`:** {self.title}",
            _scrolling(self.code),
            "**The three hints that lead there**",
            "\n".join(hints),
            f"**What to notice**\n\n{self.notice}" if self.notice else "",
            self._where(),
        ]
        return "\n\n".join(filter(None, parts))

    def _numbered(self) -> enumerate[tuple[str, str]]:
        return enumerate(zip(STEPS, self.hints, strict=True), 1)

    def _where(self) -> str:
        return f"Lesson {self.lesson}, section “{self.section}”, leads up to it." if self.section else ""


def solution(name: str, anyway: bool = False, *, progress: Progress | None = None) -> Solution:
    """The solution of exercise `name`, explained, once you have tried it; recorded as seen.

    Before a first attempt it is not shown, unless you ask for it `anyway`. Raises UnknownExercise, with
    similar names, if there is no such exercise.
    """
    from flashlearn.lessons import find  # the declarations import torch: only when needed

    exercise = find(name)
    progress = progress or Progress()
    if not (anyway or progress.attempts().get(name) or name in progress.solutions()):
        return Solution(name, exercise.title, "")
    found = _read(exercise)
    progress.solution_seen(name)
    return found


def _scrolling(code: str) -> str:
    """Code in Markdown that scrolls on narrow screens: a kernel with broken lines is hard to read."""
    width = 8 * max(map(len, code.splitlines())) + 60
    opened = f'<div style="overflow-x: auto; margin: 12px 0"><div style="min-width: {width}px">'
    return f"{opened}\n\n```python\n{code}\n```\n\n</div></div>"


def solution_call(name: str) -> str:
    """The call that shows a solution before a first attempt."""
    return f'flashlearn.solution("{name}", anyway=True)'


def _withheld(name: str) -> str:
    return (
        f"You have not tried `{name}` yet. A wrong attempt costs nothing, and its report is written for you; "
        f'`flashlearn.hint("{name}")` gives the first of three hints. To read the solution anyway: '
        f"`{solution_call(name)}`."
    )


def _read(exercise: Exercise) -> Solution:
    """The solution from the lesson's source, the only place where it is written."""
    cells = _cells(exercise.lesson)
    wanted = f"{EXERCISE_CELL}{exercise.name}"
    at = next((index for index, cell in enumerate(cells) if cell.id == wanted), None)
    if at is None:
        raise CourseError(f"No lesson has a cell for {exercise.name}: install flashlearn again.")
    before = "\n".join(cell.solved for cell in cells[:at] if cell.kind == "markdown")
    following = next((cell.solved for cell in cells[at + 1 :] if cell.kind == "markdown"), "")
    notice = _NOTICE.match(following)  # further down in the cell it belongs to another question
    return Solution(
        exercise.name,
        exercise.title,
        code=_MARKERS.sub("", cells[at].solved).rstrip("\n"),
        hints=cells[at].hints,
        notice=notice[1] if notice else "",
        section=next(reversed(_SECTION.findall(before)), ""),
        lesson=exercise.lesson,
    )


def _cells(number: str) -> tuple[Cell, ...]:
    stem = next((stem for stem in packaged_lessons.sources() if stem.startswith(f"{number}_")), "")
    return packaged_lessons.lesson_source(stem).cells if stem else ()
