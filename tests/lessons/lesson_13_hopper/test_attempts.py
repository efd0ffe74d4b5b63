"""Lesson 13's appendix: the record of attempts says nothing that its times do not."""

from __future__ import annotations

import pytest

from flashlearn.lessons.lesson_13_hopper import attempts

RECORD = attempts.record()
TIMES = [(attempt["key"], time) for attempt in RECORD["attempts"] for time in attempt["times"]]


@pytest.mark.parametrize(("key", "time"), TIMES)
def test_a_factor_is_the_quotient_of_its_two_times(key, time):
    assert time["factor"] == pytest.approx(time["of_us"] / time["us"], abs=6e-4)


def test_the_table_has_every_attempt_and_says_which_were_not_measured():
    lines = attempts.table(RECORD).split("\n")
    for attempt in RECORD["attempts"]:
        (at,) = (n for n, line in enumerate(lines) if line.startswith(f"{attempt['key']:5} "))
        assert ("not measured" in lines[at + 1]) == (not attempt["times"])


def test_predictions_are_beside_measurements():
    assert "+5: +3.9 +2.2" in attempts.table(RECORD)
    assert "-3 … +3: -9.2" in attempts.table(RECORD)
