"""One room for all tests of the classroom: it takes seconds to make, and nothing is left in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from flashlearn.classroom.records import Asked, Assignment, Source, Submission, SubmissionGrade
from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.confinement import Limits

LIMITS = Limits(call=1.5, cell=1.0, whole=60.0, asleep=0.5, grace=0.5, memory=1 << 30, message=32 << 20)
"""Short, so that a test of what takes for ever is not one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "room" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("a room"))


@pytest.fixture(scope="session")
def room() -> Iterator:
    """A room behind all walls that this machine has; skipped, with the reason, where there are too few."""
    from flashlearn.classroom.grading.session import Room
    from flashlearn.classroom.sandbox.client import Keeper

    if why := layers.standing().lacking():
        pytest.skip(why)
    with Keeper(limits=LIMITS) as keeper, Room(keeper=keeper.room() or keeper) as made:
        yield made


@pytest.fixture
def graded(room) -> Callable[..., SubmissionGrade]:
    """Grades cells, (text, exercise) or a text alone, as one submission to these exercises."""

    def grade(
        *cells: str | tuple[str, str], asked: tuple[Asked, ...], draws: bytes = b"theirs"
    ) -> SubmissionGrade:
        sources = tuple(Source(cell) if isinstance(cell, str) else Source(*cell) for cell in cells)
        submission = Submission("Ada", ("ada.ipynb",), sources, key=str(hash(sources)))
        return room.grade(submission, Assignment("week 1", asked, "0", b"theirs", "key"))

    return grade
