"""A kernel that passes its small cases is also asked about large tensors: their offsets and grids."""

from __future__ import annotations

import pytest

import flashlearn
from flashlearn.course.answers import solution
from flashlearn.judging.real_sizes import check_grid_axes, check_offset_range
from flashlearn.kernels import bias_gradient as bias
from flashlearn.kernels import flash_backward_dkv as dkv
from flashlearn.kernels import flash_forward as forward
from flashlearn.kernels import matmul, softmax
from flashlearn.kernels import repeatable_backward as parts
from flashlearn.lessons import find
from flashlearn.lessons.shared.variants import variant
from flashlearn.outcome import Status
from flashlearn.running.answer import Here

NARROW = {
    "softmax_forward": variant(
        softmax.softmax_forward, softmax.softmax_forward_kernel, edits=((".to(tl.int64)", ""),)
    ),
    "tiled_matmul": variant(
        matmul.tiled_matmul,
        matmul.tiled_matmul_kernel,
        edits=(("tl.arange(0, BLOCK_K).to(tl.int64)", "tl.arange(0, BLOCK_K)"),),
    ),
    "bias_gradient": variant(
        bias.bias_gradient,
        bias.bias_gradient_kernel,
        edits=(
            (
                "(tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)",
                "tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)",
            ),
        ),
    ),
}
NARROW_AND_WRONG = variant(
    softmax.softmax_forward,
    softmax.softmax_forward_kernel,
    edits=((".to(tl.int64)", ""), ("tl.exp(", "tl.exp2(")),
)
NARROW_HEADS = variant(
    dkv.dkv_kernel_causal,
    dkv.flash_dkv_causal_kernel,
    edits=(("h = tl.program_id(1).to(tl.int64)", "h = tl.program_id(1)"),),
)
ONE_AXIS = variant(
    forward.flash_forward,
    forward.flash_forward_kernel,
    edits=(("(triton.cdiv(S_q, BLOCK), H, B)", "(triton.cdiv(S_q, BLOCK), H * B)"),),
)
FIRST_AXIS = variant(
    forward.flash_forward,
    forward.flash_forward_kernel,
    edits=(
        ("(triton.cdiv(S_q, BLOCK), H, B)", "(H * B, triton.cdiv(S_q, BLOCK))"),
        ("(tl.program_id(1) % H)", "(tl.program_id(0) % H)"),
        ("(tl.program_id(2) + tl.program_id(1) // H)", "(tl.program_id(0) // H)"),
        ("tl.program_id(0) * BLOCK_Q", "tl.program_id(1) * BLOCK_Q"),
    ),
)


@pytest.mark.parametrize("name", NARROW)
def test_an_index_of_32_bits_fails_where_it_passes_all_cases(name: str):
    report = flashlearn.check(name, NARROW[name], demo=True)
    assert report.status is Status.WRONG and report.finding.names == ("32-bit offset",)
    assert all(outcome.status is Status.PASS for outcome in report.case_outcomes)
    assert "in 32 bits" in report.finding.sentence and report.finding.place is not None


def test_an_index_of_32_bits_is_reported_beside_a_mistake_that_the_cases_show():
    report = flashlearn.check("softmax_forward", NARROW_AND_WRONG, demo=True)
    assert "real sizes" not in report.finding.names and report.outcomes[0].status is Status.WRONG
    text = " ".join(str(report).split())
    assert "Besides, line" in text and "in 32 bits, which is too few for large tensors" in text
    assert "No case shows it, because their tensors are small." in text and "The cases pass" not in text


def test_nothing_is_added_to_a_mistake_beside_indices_of_64_bits():
    edits = (("tl.exp(", "tl.exp2("),)
    wrong = variant(softmax.softmax_forward, softmax.softmax_forward_kernel, edits=edits)
    assert "Besides" not in str(flashlearn.check("softmax_forward", wrong, demo=True))


def test_a_head_of_32_bits_fails_where_the_heads_are_outermost_in_memory():
    caution = check_offset_range(find("dkv_kernel_causal"), Here(NARROW_HEADS))
    assert "heads outermost" in caution.sentence and "4026531840 in 32 bits" in caution.sentence


@pytest.mark.parametrize("name", NARROW)
def test_the_courses_indices_of_64_bits_do_not(name: str):
    exercise = find(name)
    assert check_offset_range(exercise, Here(solution(exercise), exercise)) is None


def test_an_offset_between_the_parts_of_a_sum_needs_64_bits():
    narrow = variant(
        parts.determinism,
        parts.sum_of_shares_kernel,
        edits=(("tl.program_id(2).to(tl.int64)", "tl.program_id(2)"),),
    )
    exercise = find("determinism")
    caution = check_offset_range(exercise, Here(narrow, exercise))
    assert "With B 1024, H 512, D 128, line" in caution.sentence and "another part" in caution.sentence
    assert check_offset_range(exercise, Here(solution(exercise), exercise)) is None


def test_b_times_h_on_the_second_axis_fails_and_says_which_launch_does():
    report = flashlearn.check("flash_forward", ONE_AXIS, demo=True)
    assert report.finding.names == ("grid axis too short",)
    assert "With B 512 and H 256" in report.finding.sentence and "131072" in report.finding.sentence


def test_b_times_h_on_the_first_axis_passes():
    assert flashlearn.check("flash_forward", FIRST_AXIS, demo=True).passed


def test_where_heads_have_axes_of_their_own_nothing_is_asked():
    exercise = find("flash_forward")
    report = flashlearn.check("flash_forward", solution(exercise), demo=True)
    assert report.passed
    assert check_grid_axes(exercise, None, report.outcomes) is None  # no answer is run for it
