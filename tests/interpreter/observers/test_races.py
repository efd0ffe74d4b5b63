"""Programs that meet at an element without order race; programs that are ordered do not."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter.route import observing
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.outcome import Status


@triton.jit
def all_write_one(x_ptr):
    tl.store(x_ptr, tl.program_id(0).to(tl.float32))


@triton.jit
def all_write_the_same(x_ptr):
    tl.store(x_ptr, 7.0)


@triton.jit
def add_without_atomics(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)


@triton.jit
def add_atomically(x_ptr):
    tl.atomic_add(x_ptr + tl.arange(0, 4), 1.0)


@triton.jit
def shift(x_ptr):
    i = tl.program_id(0)
    tl.store(x_ptr + i, tl.load(x_ptr + i + 1))


@triton.jit
def own_element_twice(x_ptr):
    at = x_ptr + tl.program_id(0)
    tl.store(at, tl.load(at) * 2)
    tl.store(at, tl.load(at) + 1)


@triton.jit
def add_under_a_lock(x_ptr, lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def add_outside_the_lock(x_ptr, lock_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.atomic_xchg(lock_ptr, 0)
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)


@triton.jit
def last_one_sums(x_ptr, count_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    tl.store(x_ptr + i, i.to(tl.float32))
    if tl.atomic_add(count_ptr, 1) == n - 1:
        lanes = tl.arange(0, BLOCK)
        tl.store(sum_ptr, tl.sum(tl.load(x_ptr + lanes, mask=lanes < n, other=0.0), axis=0))


@triton.jit
def lanes_collide(x_ptr):
    lanes = tl.arange(0, 8)
    tl.store(x_ptr + lanes // 2, lanes.to(tl.float32))


@triton.jit
def read_what_others_left(x_ptr):
    i = tl.program_id(0)
    tl.store(x_ptr + i, i + 1.0)
    tl.sum(tl.load(x_ptr + tl.arange(0, 4)), axis=0)


def races(launch, seed=0):
    with observing(seed=seed) as (session, _):
        launch()
    return session.memory.races.found


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("kernel", [all_write_one, add_without_atomics])
def test_programs_that_write_one_element_race_in_any_order(kernel, seed):
    found = races(lambda: kernel[(4,)](torch.zeros(1)), seed)
    assert found and "x_ptr[0]" in found[0].sentence
    assert found[0].place.text.strip().startswith("tl.store(x_ptr")
    assert len(set(found[0].programs)) == 2


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_reading_what_a_neighbour_overwrites_races_in_any_order(seed):
    assert races(lambda: shift[(4,)](torch.arange(5.0)), seed)


@pytest.mark.parametrize(
    "launch",
    [
        lambda: all_write_one[(1,)](torch.zeros(1)),
        lambda: all_write_the_same[(4,)](torch.zeros(1)),
        lambda: add_atomically[(4,)](torch.zeros(4)),
        lambda: own_element_twice[(4,)](torch.zeros(4)),
    ],
    ids=["one program", "equal values", "atomics", "own elements"],
)
def test_what_gives_one_answer_on_every_gpu_is_no_race(launch):
    assert races(launch) == []


def signature(launch):
    return races(launch)[0].fault


def test_a_race_is_told_by_its_two_accesses_and_by_what_was_read_before():
    assert signature(lambda: all_write_one[(4,)](torch.zeros(1))) == ("store", "store", False, False)
    assert signature(lambda: add_without_atomics[(4,)](torch.zeros(1))) == ("load", "store", False, True)
    met = signature(lambda: read_what_others_left[(4,)](torch.zeros(4)))
    assert met in {("load", "store", False, False), ("store", "load", False, True)}  # whoever came first
    assert signature(lambda: lanes_collide[(1,)](torch.zeros(4))) == ("store", "lanes", False, False)


@triton.jit
def read_and_exchange(x_ptr):
    tl.atomic_xchg(x_ptr, tl.load(x_ptr) + 1.0)


@triton.jit
def read_and_add(x_ptr):
    tl.atomic_add(x_ptr, tl.load(x_ptr) + 1.0)


def test_an_atomic_that_does_not_add_is_told_from_one_that_does():
    assert signature(lambda: read_and_add[(4,)](torch.zeros(1)))[:2] == ("load", "atomic")
    assert "no sum" not in signature(lambda: read_and_add[(4,)](torch.zeros(1)))
    assert signature(lambda: read_and_exchange[(4,)](torch.zeros(1)))[-1] == "no sum"


@pytest.mark.parametrize("keeps", [True, False])
def test_a_race_in_an_output_is_another_than_one_in_scratch(keeps):
    def launcher(a, x, y):
        z = torch.zeros_like(x)
        all_write_one[(4,)](z if keeps else torch.zeros(1))
        return z

    found = run_observed(find("scaled_add"), launcher, find("scaled_add").cases[0])
    assert found.status is Status.RACE
    assert found.fault == ("race", "store", "store", False, False, "z" if keeps else "scratch")


@triton.jit
def all_write_almost_the_same(x_ptr, step):
    tl.store(x_ptr + tl.arange(0, 2), 3.0 + step * tl.program_id(0) * tl.arange(0, 2))


@pytest.mark.parametrize(("step", "met"), [(2.0**-22, False), (2.0**-15, True)])
def test_values_that_only_rounding_tells_apart_are_no_race(step, met):
    assert bool(races(lambda: all_write_almost_the_same[(2,)](torch.zeros(2), step))) is met


def test_a_lock_orders_what_lies_inside_it():
    x = torch.zeros(1)
    assert races(lambda: add_under_a_lock[(5,)](x, torch.zeros(1, dtype=torch.int32))) == []
    assert x.item() == 5


def test_a_lock_does_not_order_what_lies_after_it():
    assert races(lambda: add_outside_the_lock[(5,)](torch.zeros(1), torch.zeros(1, dtype=torch.int32)))


def test_the_last_program_may_read_what_all_have_counted():
    total = torch.zeros(1)
    counter = torch.zeros(1, dtype=torch.int32)
    found = races(lambda: last_one_sums[(5,)](torch.zeros(5), counter, total, 5, BLOCK=8))
    assert found == []
    assert total.item() == 10


def test_a_second_launch_may_read_what_the_first_wrote():
    x = torch.zeros(4)

    def two():
        own_element_twice[(4,)](x)
        shift[(1,)](x)

    assert races(two) == []


def test_lanes_of_one_store_that_disagree_about_an_element_are_reported():
    found = races(lambda: lanes_collide[(1,)](torch.zeros(4)))
    assert found and "Two lanes" in found[0].sentence
