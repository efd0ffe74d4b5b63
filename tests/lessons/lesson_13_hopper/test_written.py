"""What the lesson reads in PTX: fences, loops, registers, and who is told by which line."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon import specialised_matmul as kernels
from flashlearn.lessons.lesson_13_hopper import exponential, timings, written

A, B = torch.zeros(128, 256).bfloat16(), torch.zeros(256, 256).bfloat16()


@pytest.fixture(scope="module")
def matmul() -> str:
    return written.ptx_of(kernels.specialised_matmul, A, B)


def test_a_step_of_the_producer_is_some_dozens_of_instructions_and_six_copies(matmul):
    found = written.loops(matmul, kernels.produce, kernels.consume)
    assert set(found) == {"produce", "consume"}
    copies = [count for name, count in found["produce"].items() if name.startswith("cp.async.bulk.tensor")]
    assert copies == [6] and 20 < sum(found["produce"].values()) < 80
    assert any(name.startswith("wgmma.mma_async") for name in found["consume"])


def test_registers_are_moved_to_240_where_a_consumer_begins_and_to_24_where_the_producer_does(matmul):
    moved = written.moved_registers(matmul, kernels.produce, kernels.consume)
    assert ("dec", 24, "produce") in moved
    assert {(count, of) for _, count, of in moved if of == "consume"} == {(240, "consume")}


def test_a_fence_and_a_group_are_the_compiler_s_and_stand_at_the_product_s_line(matmul):
    found = written.by_line(matmul, r"wgmma\.(fence|commit)", kernels.consume)
    assert found and all("warpgroup_mma(" in line for _, line in found)


def test_what_spills_is_said_by_the_assembler():
    registers, spilled = written.spilled(kernels.specialised_matmul, A, B)
    assert registers == 168 and spilled == 0


@gluon.jit
def one_copy(x_desc, COUNT: gl.constexpr):
    gl.allocate_shared_memory(x_desc.dtype, [COUNT, 64], x_desc.layout)


def test_a_kernel_is_compiled_from_descriptors_alone():
    from flashlearn.kernels.gluon.parts import tiles_of

    ptx = written.ptx_for(one_copy, tiles_of(A, [64, 64]), constants={"COUNT": 64}, num_warps=4)
    assert ".entry one_copy" in ptx


def test_more_coefficients_are_nearer_to_the_power_of_two():
    x = -20 * torch.rand(20_000, generator=torch.Generator().manual_seed(0))
    found = [exponential.errors(x, degree) for degree in range(1, 6)]
    assert all(one > 5 * other for (one, _), (other, _) in itertools.pairwise(found))
    assert found[2][0] < 1e-4 and found[2][1] < 0.02 and found[4][1] < 1e-4


def test_the_polynomial_s_error_is_the_smallest_that_there_is():
    import numpy as np

    f = np.linspace(-0.5, 0.5, 4001)
    error = np.polyval(exponential.coefficients(3), f) / np.exp2(f) - 1
    peaks = [part.max() if part.max() > -part.min() else -part.min()
             for part in np.split(error, np.flatnonzero(np.diff(np.sign(error)) != 0) + 1)]  # fmt: skip
    assert len(peaks) == 5 and max(peaks) < 1.001 * min(peaks)


def test_what_is_far_below_zero_is_nearly_zero_but_not_zero():
    value = exponential.exp2_by_fma(torch.tensor([-float("inf"), -1e4]), exponential.coefficients(3))
    assert (value > 0).all() and (value < 1e-37).all()


def test_both_units_together_are_faster_than_one():
    alone = exponential.cycles(128 * 128, 0.0, 3, others=4)
    assert exponential.cycles(128 * 128, 0.2, 3, others=4) < 0.9 * alone
    assert exponential.cycles(128 * 128, 1.0, 3, others=4) > alone


def test_every_contestant_takes_the_arguments_that_it_is_timed_with(monkeypatch):
    def few(*shape: int, count: int) -> list[torch.Tensor]:
        small = [1] * (len(shape) - 2) + [128, 128]
        return [torch.randn(small).bfloat16() for _ in range(count)]

    monkeypatch.setattr(timings, "_drawn", few)
    with observing():
        groups = [timings._forward(), timings._backward(), timings._products(), timings._turns(128, 128)]
        for calls in groups:
            results = [call() for call in calls.values()]
            firsts = [result[0] if isinstance(result, tuple) else result for result in results]
            for one in firsts[1:]:
                torch.testing.assert_close(one, firsts[0], atol=0.05, rtol=0.05)


def test_the_record_has_both_directions_and_names_its_gpu():
    record = timings.timings()
    assert record["forward"][timings.TAUGHT] > record["forward"][timings.FAST] > 0
    said = timings.table(record, "forward", "backward", "no such comparison")
    assert re.search(r"H200|H100|GH200", said) and "not measured" in said
