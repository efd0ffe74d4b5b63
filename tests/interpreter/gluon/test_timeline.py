"""The trace of a Gluon launch: who did what when, and what had to come first."""

from __future__ import annotations

import itertools

import torch

from flashlearn.interpreter.gluon.timeline import WHATS
from flashlearn.interpreter.route import observing
from tests.interpreter.gluon.gluon_kernels import TILE, product


def traced(stages=2, order=None):
    with observing(seed=order) as (session, _):
        product(torch.randn(64, 256).half(), torch.randn(256, 64).half(), stages=stages)
    return session.observation().timeline


def test_events_are_in_the_partitions_that_made_them():
    events = traced()
    assert {event.what for event in events} <= set(WHATS)
    assert {event.partition for event in events if event.what == "tma load"} == {"fill"}
    assert {event.partition for event in events if event.what == "wgmma"} == {"multiply"}
    assert [event.number for event in events] == list(range(len(events)))


def test_nothing_ends_before_it_begins_or_before_what_it_waited_for():
    for order in (None, 1):
        events = traced(order=order)
        for event in events:
            assert event.begin <= event.end
            assert all(events[number].end <= event.end for number in event.after)


def test_a_wait_for_a_full_buffer_is_behind_both_of_its_copies():
    events = traced()
    wait = next(e for e in events if e.what == "wait" and e.barrier == "full[0]")
    copies = [events[number] for number in wait.after if events[number].what == "tma load"]
    assert [copy.buffer for copy in copies] == ["a_tiles[0]", "b_tiles[0]"]
    assert all(copy.bytes == TILE * TILE * 2 and copy.phase == wait.phase for copy in copies)


def test_products_take_turns_on_the_tensor_core():
    products = [event for event in traced() if event.what == "wgmma"]
    assert all(one.end <= other.begin for one, other in itertools.pairwise(products))


def test_a_deeper_ring_takes_less_time():
    ends = [max(event.end for event in traced(stages=stages)) for stages in (1, 2)]
    assert ends[1] < ends[0]
