"""`status`: how far you are and what is next, as a page in Jupyter and as text elsewhere.

>>> flashlearn.status()
7 of 46 exercises have passed.
…
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flashlearn.course.files import Course, CourseError
from flashlearn.course.overview import Overview, survey
from flashlearn.course.pages import overview_html, overview_text
from flashlearn.course.progress import Progress


@dataclass(frozen=True)
class StatusPage:
    """The learner's progress; if it cannot be read, `overview` is None and `problem` says why."""

    overview: Overview | None
    folder: Path
    problem: str = ""

    def __str__(self) -> str:
        if self.overview is None:
            return self.problem
        return "\n".join(line.text for line in overview_text.lines(self.overview))

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, with links that lead from `folder`, where the notebook is, to the learner's lessons."""
        return overview_html.render(self.overview, self.folder) if self.overview else None


def status() -> StatusPage:
    """How far you are, and what is next: as the last line of a cell, a page with links to the lessons."""
    here = Path.cwd()
    try:
        return StatusPage(survey(Course.here(), Progress()), here)
    except CourseError as error:  # a notebook that was moved out of its course still runs
        return StatusPage(None, here, str(error))
