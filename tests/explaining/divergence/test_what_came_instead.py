"""What came out in place of the right value is told by its numbers."""

from __future__ import annotations

import pytest

from flashlearn.explaining.divergence import first_divergence
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.outcome import Status
from tests.explaining.divergence.test_divergence import BACKWARD, BASE_2, CAUSAL, FORWARD, made

CAUSAL_BACKWARD = BACKWARD.replace(
    "        t = p * (", "        seen = j[None, :] <= i[:, None] + S_k - S_q\n        t = p * ("
)

# exercise, source, edits, heads, words of the sentence, words of the next step
INSTEAD = {
    "LSE of the first head": (
        "dkv_kernel", BACKWARD, [("lse_ptr + head * S_q + i", "lse_ptr + i")], 2,
        "what is loaded as `lse` is not LSE: it is LSE of head 0, where head 1 belongs",
        "Do the offsets of batch and head",
    ),
    "delta of dO alone": (
        "dkv_kernel", BACKWARD, [("delta = (o * do)", "delta = (1.5 * do)")], 1,
        "what is loaded as `delta` is not delta", "what was stored before, and the address of this load",
    ),
    "exp for exp2": (
        "flash_forward", BASE_2, [("e = tl.exp2(", "e = tl.exp(")], 1,
        "is exp((S − m) log2 e), not exp(S − m)", "e^x is 2^(x log2 e)",
    ),
    "exp2 for exp": (
        "flash_forward", FORWARD, [("e = tl.exp(", "e = tl.exp2(")], 1,
        "is 2^(S − m), not exp(S − m)", "e^x is 2^(x log2 e)",
    ),
    "dV of P without the mask": (
        "dkv_kernel_causal", CAUSAL_BACKWARD, [("t = p * (r", "t = tl.where(seen, p, 0.0) * (r")], 1,
        "`p` still has values for hidden keys, first for query", "must be hidden in this tile",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTEAD)
def test_what_came_instead_is_told_by_its_numbers(name):
    exercise_name, source, edits, heads, said, step = INSTEAD[name]
    exercise, function = find(exercise_name), made(source, *edits)
    outcome = run_observed(exercise, function, attention_case(37, 70, 16, H=heads, seed=3))
    found = first_divergence(exercise, function, [outcome])
    assert found is not None and said in found.sentence, found
    assert step in found.next_step


SPLIT = CAUSAL.replace(
    "@triton.jit\ndef kernel(",
    "@triton.jit\ndef scores(q, k, alpha, i, j, S_q, S_k, MASKED: tl.constexpr):\n"
    '    x = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha\n'
    "    if MASKED:\n"
    '        x = tl.where((j < S_k)[None, :] & (j[None, :] <= i[:, None] + S_k - S_q), x, -float("inf"))\n'
    "    return x\n\n\n@triton.jit\ndef kernel(",
)
HELPED = [
    (
        '        x = tl.dot(q, tl.trans(k), input_precision="ieee")\n        x = x * alpha\n',
        "        if start == 0:\n            x = scores(q, k, alpha, i, j, S_q, S_k, False)\n"
        "        else:\n            x = scores(q, k, alpha, i, j, S_q, S_k, True)\n",
    ),
    ('        x = tl.where(seen, x, -float("inf"))\n', ""),
]


def test_a_function_that_is_called_with_and_without_a_mask_is_not_blamed_for_the_call():
    exercise, function = find("flash_forward_causal"), made(SPLIT, *HELPED)
    outcome = run_observed(exercise, function, attention_case(70, 70, 16, seed=3))
    found = first_divergence(exercise, function, [outcome])
    assert outcome.status is Status.WRONG and found is not None and found.place is not None
    assert found.place.text.strip() == "x = scores(q, k, alpha, i, j, S_q, S_k, False)"


def test_padding_along_d_counts_in_scores():
    wide = FORWARD.replace("d = tl.arange(0, D)", "d = tl.arange(0, 32)")
    for old, new in (
        ("out = tl.zeros((BLOCK, D)", "out = tl.zeros((BLOCK, 32)"),
        (")\n        x = x * alpha\n", ") * alpha\n"),
        ("mask=alive[:, None], other=0.0", "mask=alive[:, None] & (d < D)[None, :], other=1.0"),
        ("mask=(j < S_k)[:, None], other=0.0", "mask=(j < S_k)[:, None] & (d < D)[None, :], other=1.0"),
        ("mask=alive[:, None])", "mask=alive[:, None] & (d < D)[None, :])"),
    ):
        assert old in wide
        wide = wide.replace(old, new)
    exercise, function = find("flash_forward"), made(wide)
    outcome = run_observed(exercise, function, attention_case(37, 70, 16, seed=3))
    found = first_divergence(exercise, function, [outcome])
    assert found is not None and "up to the last component of a row" in found.sentence, found
