"""Partitions that compute at the same time share the lanes, the exponentials and the tensor cores."""

from __future__ import annotations

import pytest

from flashlearn.interpreter.gluon.shared_units import shared
from flashlearn.observation import TimelineEvent


def event(number: int, index: int, what: str, begin: float, end: float, **facts) -> TimelineEvent:
    return TimelineEvent(number, 1, (0, 0, 0), f"p{index}", what, begin, end, index=index, **facts)


def ends(*events: TimelineEvent) -> list[float]:
    return [timed.end for timed in shared(events, latency=600)]


def test_two_partitions_that_take_exponentials_at_once_need_twice_as_long():
    both = [event(i, i, "compute", 0, 100, special=100) for i in range(2)]
    assert ends(*both) == [200, 200]


def test_exponentials_of_one_run_beside_other_arithmetic_of_the_other():
    assert ends(event(0, 0, "compute", 0, 100, special=100), event(1, 1, "compute", 0, 100)) == [100, 100]


def test_who_comes_later_shares_from_then_on():
    first = event(0, 0, "compute", 0, 100)
    later = event(1, 1, "fence", 0, 50), event(2, 1, "compute", 50, 150)
    assert ends(first, *later) == [150, 50, 200]


def test_one_partition_alone_keeps_its_times():
    alone = [event(0, 0, "compute", 0, 10, special=5), event(1, 0, "wgmma", 10, 90, issued=10)]
    assert shared(alone, latency=600) == alone


def computing(index: int, number: int) -> TimelineEvent:
    return event(number, index, "compute", 1000, 1001)


def test_products_of_two_partitions_share_and_those_of_one_are_in_order():
    products = [event(0, 0, "wgmma", 0, 100), event(1, 1, "wgmma", 100, 200), event(2, 0, "wgmma", 200, 300)]
    timed = shared([*products, computing(0, 3), computing(1, 4)], latency=600)
    assert [one.end for one in timed[:3]] == [pytest.approx(at, abs=2) for at in (200, 200, 300)]
    assert timed[2].begin == timed[0].end


def test_a_wait_ends_when_what_it_waits_for_has_ended():
    copy = event(0, 0, "tma load", 0, 740, bytes=8960)
    wait = event(1, 1, "wait", 0, 740, after=(0,))
    timed = shared([copy, wait, computing(0, 2), computing(1, 3)], latency=600)
    assert timed[0].end == timed[1].end == 740 and timed[1].begin == 0


def test_workers_begin_after_the_fork_and_the_join_comes_after_them():
    fork, join = event(0, 0, "fork", 0, 1), event(4, 0, "join", 101, 102)
    work = [event(1, 1, "compute", 1, 101), event(2, 2, "compute", 1, 101), event(3, 0, "compute", 1, 2)]
    timed = shared([fork, *work, join], latency=600)
    assert min(one.begin for one in timed[1:4]) == 1
    assert timed[4].begin == max(one.end for one in timed[1:4])
