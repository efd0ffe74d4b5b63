"""Contestants take turns, medians and spreads are what they say, and a slow one is not called often."""

from __future__ import annotations

import itertools

import pytest

from flashlearn.machine import timers
from flashlearn.machine.timers import (
    MAX_ROUNDS,
    MIN_ROUNDS,
    Measurement,
    Timer,
    WallClockTimer,
    summarize,
    time_in_turns,
)


class Told(Timer):
    """Calls, and then says what the test wants each to have taken: a function of its name and its count."""

    def __init__(self, taken):
        self.taken, self.called = taken, []

    def times(self, calls):
        out = []
        for call in calls:
            name = call()
            out.append(self.taken(name, self.called.count(name)))
            self.called.append(name)
        return out


def test_the_spread_reaches_from_the_tenth_to_the_ninetieth_percentile():
    found = summarize([float(n) for n in range(1, 102)])  # p10 is 11, the median 51, p90 is 91
    assert found == Measurement(51.0, pytest.approx(80 / 51), 101)
    assert found.unsteady and not summarize([1.0, 1.01, 1.02]).unsteady
    assert summarize([2.0, 3.0]) == Measurement(2.5, None, 2) and not summarize([2.0]).unsteady


def test_contestants_take_turns_call_by_call():
    told = Told(lambda name, count: 10.0)
    mine, peer = time_in_turns([lambda: "mine", lambda: "peer"], told, seconds=0.2)
    assert told.called == ["mine", "peer"] * (len(told.called) // 2)
    assert (mine.median, mine.spread, mine.rounds) == (10.0, 0.0, 20) and peer == mine


def test_the_calls_before_the_timed_ones_are_in_no_figure():
    told = Told(lambda name, count: 500.0 if count == 0 else 50.0)
    assert time_in_turns([lambda: "compiles"], told)[0] == Measurement(50.0, 0.0, MIN_ROUNDS)


def test_a_slow_contestant_is_called_seldom_and_evenly_among_the_others():
    told = Told(lambda name, count: {"quick": 1.0, "slow": 40.0}[name])
    quick, slow = time_in_turns([lambda: "quick", lambda: "slow"], told, seconds=0.2)
    assert (quick.rounds, slow.rounds) == (MAX_ROUNDS, MIN_ROUNDS)
    timed = told.called[-MAX_ROUNDS - MIN_ROUNDS :]
    at = [i for i, name in enumerate(timed) if name == "slow"]
    assert max(b - a for a, b in itertools.pairwise(at)) <= 2 * MAX_ROUNDS / MIN_ROUNDS


@pytest.mark.parametrize(("milliseconds", "rounds"), [(150.0, 3), (4000.0, 1)])
def test_a_very_slow_contestant_is_called_hardly_at_all(milliseconds, rounds):
    told = Told(lambda name, count: milliseconds)
    (found,) = time_in_turns([lambda: "slow"], told)
    assert found.rounds == rounds and len(told.called) == 2 + rounds
    assert found.spread == (0.0 if rounds > 2 else None)


def test_by_the_clock_a_call_takes_what_passes_until_it_is_done(monkeypatch):
    now = iter([0.0, 0.25, 1.0, 1.5])
    monkeypatch.setattr(timers.time, "perf_counter", lambda: next(now))
    assert WallClockTimer().times([lambda: None] * 2) == [250.0, 500.0]
