"""What failed while an answer was explained is kept, is bounded, and is shown by `flashlearn doctor`."""

from __future__ import annotations

import pytest

from flashlearn.course import environment, failure_log
from flashlearn.explaining.stage import attempted
from flashlearn.lessons import find


def fails(words: str = "a fault of ours") -> None:
    failure_log.install()
    attempted(find("row_sum"), "some stage", _raises, words)


def _raises(words: str) -> None:
    raise IndexError(words)


def shown() -> environment.Check:
    return environment._guarded("explaining", environment.CHECKS["explaining"])


def test_the_doctor_tells_how_often_when_and_that_no_verdict_is_affected(flashlearn_home):
    assert shown().ok is True
    fails("first"), fails("second")
    found = shown()
    assert found.ok is None
    for words in ("row_sum", "'some stage'", "IndexError: second", "2 failures", "not affected"):
        assert words in found.found
    assert str(flashlearn_home) in found.advice


def test_the_file_stays_small_and_goes_on_counting():
    for _ in range(failure_log.MAX_ENTRIES + 3):
        fails("x" * 10_000)
    kept = failure_log.entries()
    assert len(kept) == failure_log.MAX_ENTRIES and kept[-1].number == failure_log.MAX_ENTRIES + 3
    assert failure_log.path().stat().st_size < 200_000
    assert any("_raises" in line for line in kept[-1].traceback)


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"number": "x"}', "\x00\n\n"])
def test_a_damaged_file_is_no_obstacle(damage):
    failure_log.path().parent.mkdir(parents=True)
    failure_log.path().write_text(damage)
    fails()
    assert failure_log.entries()[-1].error == "IndexError: a fault of ours"


def test_a_folder_that_cannot_be_written_to_is_no_obstacle(flashlearn_home):
    flashlearn_home.write_text("a file where the folder should be")
    fails()
    assert failure_log.entries() == []


def test_nothing_is_kept_twice():
    failure_log.install()
    fails()
    assert len(failure_log.entries()) == 1
