"""A sum in the unit of another maximum, and a maximum that is 0: each is said as what it is."""

from __future__ import annotations

from flashlearn.explaining import diagnose
from flashlearn.explaining.divergence import first_divergence
from flashlearn.judging.cases import run, run_observed
from flashlearn.lessons import find
from flashlearn.lessons.shared.attention_cases import attention_case
from tests.corpus.entries import find_entries
from tests.corpus.functions import function_from_text
from tests.explaining.divergence.test_divergence import FORWARD, made

BY_BLOCKS = """
@triton.jit
def kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    peak = tl.full((), -float("inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        here = tl.max(x, axis=0)
        part = tl.sum(tl.exp(x - here), axis=0)
        grown = tl.maximum(peak, here)
        total = total * tl.exp(peak - grown) + part
        peak = grown
    tl.store(lse_ptr + i, peak + tl.log(total))


def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    kernel[(M,)](x, lse, N, *x.stride(), BLOCK=32)
    return lse
"""


def test_a_sum_relative_to_its_own_maximum_is_not_called_wrong_in_its_line():
    exercise = find("online_logsumexp")
    function = function_from_text(BY_BLOCKS, "online_logsumexp")
    case = next(case for case in exercise.cases if "four blocks" in case.name)
    found = first_divergence(exercise, function, [run_observed(exercise, function, case)])
    assert "`part` is the tile's sum of exp(S − `here`), which no line brings" in found.sentence
    assert "right" not in found.sentence and "which factor" in found.next_step


def test_a_zero_in_the_place_of_the_maximum_is_not_called_right():
    exercise = find("flash_forward")
    first_tile = "base = tl.where(top == -float('inf'), 0.0, newer)\n        shrink = tl.exp(top - base)"
    edits = [("shrink = tl.exp(top - newer)", first_tile), ("x - newer[:, None]", "x - base[:, None]")]
    function, case = made(FORWARD, *edits), attention_case(9, 70, 16)
    found = first_divergence(exercise, function, [run_observed(exercise, function, case)])
    assert "though `x` is right; here `base` is 0: it is exp(S), with 0" in found.sentence


def test_a_mistake_whose_numbers_come_out_in_some_cases_is_not_named_beside_a_wrong_unit():
    (entry,) = find_entries("softmax_forward", "lanes in own units")
    exercise = find("softmax_forward")
    finding = diagnose(exercise, run(exercise, entry.function), entry.function)
    assert finding.names == ("first divergence",)
    assert "which no line brings to the maximum m" in finding.sentence and "columns" not in finding.sentence
