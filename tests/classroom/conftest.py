"""One grading session for all tests of the classroom: it takes seconds to start, and keeps nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, Submission, SubmissionGrade
from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.confinement import Limits

LIMITS = Limits(call=1.5, cell=1.0, whole=60.0, asleep=0.5, grace=0.5, memory=1 << 30, message=32 << 20)
"""Short, so that a test of what takes for ever is not one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "grading_session" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("grading session"))


@pytest.fixture(scope="session")
def grading_session() -> Iterator:
    """A session with all layers that this machine has; skipped, with the reason, if there are too few."""
    from flashlearn.classroom.grading.session import GradingSession
    from flashlearn.classroom.sandbox.client import SandboxServer

    if why := layers.available().insufficient():
        pytest.skip(why)
    with (
        SandboxServer(limits=LIMITS) as server,
        GradingSession(sandbox=server.factory() or server) as session,
    ):
        yield session


@pytest.fixture
def graded(grading_session) -> Callable[..., SubmissionGrade]:
    """Grades cells, (text, exercise) or a text alone, as one submission to these exercises."""

    def grade(
        *cells: str | tuple[str, str], asked: tuple[AssignedExercise, ...], draws: bytes = b"theirs"
    ) -> SubmissionGrade:
        sources = tuple(CodeCell(cell) if isinstance(cell, str) else CodeCell(*cell) for cell in cells)
        submission = Submission("Ada", ("ada.ipynb",), sources, key=str(hash(sources)))
        return grading_session.grade(submission, Assignment("week 1", asked, "0", b"theirs", "key"))

    return grade
