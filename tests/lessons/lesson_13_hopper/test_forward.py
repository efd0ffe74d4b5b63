"""Lesson 13, sittings 7 to 9: what overlaps in the model, and what the forward pass says of its faults."""

from __future__ import annotations

import pytest
import torch

import flashlearn
from flashlearn import compiler
from flashlearn.interpreter.route import observing
from flashlearn.lessons.lesson_13_hopper import forward_variants, pictures
from flashlearn.lessons.lesson_13_hopper.fa3_formulas import TWICE, faulty_forward
from flashlearn.lessons.lesson_13_hopper.fa3_forward_edits import kernel
from flashlearn.lessons.lesson_13_hopper.simple_fa3 import fa3_forward
from flashlearn.lessons.shared import grouped, reference
from flashlearn.lessons.shared.variants import variant
from flashlearn.outcome import Status


def drawn(S_q: int = 128, S_k: int = 512, D: int = 64) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(1, 1, S, D, generator=generator).bfloat16() for S in (S_q, S_k, S_k))


def test_a_softmax_under_a_product_is_faster_in_the_model_and_gives_the_same_numbers():
    q, k, v = drawn()
    with observing():
        both = [launcher(q, k, v) for launcher in (forward_variants.in_order, fa3_forward)]
    for one, other in zip(*both, strict=True):
        torch.testing.assert_close(one, other, atol=2e-3, rtol=2e-2)
    in_order, overlapped = (pictures.timeline(f, q, k, v) for f in (forward_variants.in_order, fa3_forward))
    assert overlapped.cycles < 0.9 * in_order.cycles


def test_the_package_s_kernel_is_shown_with_turns_and_without():
    q, k, v = drawn(S_k=256)
    waits = [
        sum(event.what == "arrive" for event in pictures.timeline(f, q, k, v).events)
        for f in (forward_variants.on_their_own, forward_variants.by_turns)
    ]
    assert waits[0] < waits[1]


def test_turns_pay_in_the_model_since_partitions_share_the_units_of_an_sm():
    q, k, v = drawn(S_k=1024)
    own, turns = (
        pictures.timeline(f, q, k, v) for f in (forward_variants.on_their_own, forward_variants.by_turns)
    )
    assert turns.cycles < 0.95 * own.cycles


@pytest.mark.parametrize("launcher", [fa3_forward, forward_variants.by_turns])
def test_shared_units_keep_each_partition_s_order_and_what_waits_for_what(launcher):
    with observing() as (session, _):
        launcher(*drawn())
    alone, shared = session.timeline.events, session.observation().timeline
    ends = {event.number: event.end for event in shared}
    last: dict[tuple, float] = {}
    assert [event.number for event in shared] == [event.number for event in alone]
    for event in shared:
        assert event.begin <= event.end and all(ends[number] <= event.end for number in event.after)
        mine = (event.program, event.index)
        if event.what not in ("wgmma", "tma load", "tma store"):
            assert event.begin >= last.get(mine, 0.0)
            last[mine] = event.end


def test_equal_shares_spill_and_moved_registers_do_not():
    assert forward_variants.spilled((168, 168)) > 0
    assert forward_variants.spilled((240, 24)) == forward_variants.spilled((208, 88)) == 0


@pytest.mark.parametrize("D", [64, 128])
def test_an_h100_s_compiler_takes_the_kernel_and_spills_nothing(D):
    with observing() as (session, _):
        fa3_forward(*drawn(D=D), causal=True)
    (made,) = compiler.compile_launch(session.launches[-1], targets=(90,))
    assert not made.error and made.spill_bytes == 0 and made.tma and made.tensor_cores == "wgmma"


@pytest.mark.parametrize(
    ("fault", "mistake"),
    [
        ("V with K's slot", "V is not waited for"),
        ("acc used early", "a product is used before its wait"),
    ],
)
def test_a_mistake_made_in_another_way_has_the_same_name(fault, mistake):
    report = flashlearn.check("fa3_forward", kernel.variant(fault), demo=True)
    assert report.status is Status.CRASHED and report.finding.mistake == mistake, str(report)


@pytest.mark.parametrize(
    ("edit", "mistake"),
    [
        (("alpha * LOG2_E", "alpha"), "log2 e is missing"),
        (("s * scale,", "s * scale * 1.4426950408889634,"), "log2 e applied twice"),
        (("S_k - 1, gl.int32", "S_k + 1000, gl.int32"), "the ragged end is not masked"),
        ((" * 0.6931471805599453  # ln 2", ""), "LSE in base 2"),
    ],
)
def test_formulas_are_tried_with_the_kernel_s_own_blocks(edit, mistake):
    edited = variant(kernel.launcher, *kernel.kernels, edits=(edit,))
    report = flashlearn.check("fa3_forward", edited, demo=True)
    assert report.status is Status.WRONG and report.finding.mistake == mistake, str(report)


def test_k_may_be_given_back_before_its_product_is_over_since_v_is_not():
    assert flashlearn.check("fa3_forward", kernel.variant("K given back early"), demo=True).passed


def test_without_faults_the_formula_is_the_reference():
    q, k, v = (t.double() for t in drawn(S_q=70, S_k=100))
    right = grouped.forward(reference.attention_forward)(q, k, v, True, -0.2)
    for one, other in zip(faulty_forward(q, k, v, True, -0.2), right, strict=True):
        torch.testing.assert_close(one, other)
    twice = faulty_forward(q, k, v, True, -0.2, frozenset({TWICE}))
    assert not torch.allclose(twice[0], right[0])
