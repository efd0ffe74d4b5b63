"""Without threads, a deadline ends loops and calls; an import and code outside the block go on."""

from __future__ import annotations

import sys
import time

import pytest

from flashlearn.interpreter.deadline import Clock, deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.machine import threads

pytestmark = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.11 has no sys.monitoring")


@pytest.fixture(autouse=True)
def no_threads(monkeypatch) -> None:
    monkeypatch.setattr(threads, "CAN_START", False)


def an_empty_loop() -> None:
    while True:
        pass


def calls_that_do_not_end() -> None:
    def one(n: int) -> int:
        return n

    while True:
        list(map(one, range(1_000)))


@pytest.mark.parametrize("work", [an_empty_loop, calls_that_do_not_end])
def test_what_does_not_end_is_ended(work):
    with pytest.raises(TimeLimit), deadline(0.05):
        work()


def test_the_inner_block_ends_first_and_the_outer_one_goes_on():
    with deadline(60.0):
        with pytest.raises(TimeLimit), deadline(0.05):
            an_empty_loop()
        assert sum(range(1_000)) == 499_500


def test_after_the_block_nothing_is_raised():
    with deadline(0.01):
        pass
    until = time.monotonic() + 0.05
    while time.monotonic() < until:
        pass
    assert sys.monitoring.get_tool(4) is None


def test_code_that_swallows_the_limit_gets_it_again():
    met = []

    def swallows() -> None:
        while len(met) < 3:
            try:
                an_empty_loop()
            except TimeLimit:
                met.append(1)

    with pytest.raises(TimeLimit), deadline(0.05):
        swallows()
        an_empty_loop()
    assert len(met) == 3


def test_the_clock_is_that_on_the_wall():
    clock = Clock()
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    assert clock.used() >= 0.02 and not clock.knows_the_line
