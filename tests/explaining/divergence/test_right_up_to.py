"""A value that is right only up to a factor, a transpose or its padding is not called right: that is said."""

from __future__ import annotations

import pytest

from flashlearn.explaining.divergence import first_divergence
from flashlearn.explaining.divergence.factors import factor_words
from flashlearn.lessons import find
from tests.explaining.divergence.test_divergence import (
    BACKWARD,
    BASE_2,
    CAUSAL,
    FORWARD,
    TRANSPOSED,
    made,
    outcome_of,
)

DS, S, P = "t = p * (r - delta[:, None])", "s = alpha * tl.dot(", "p = tl.exp(s - lse[:, None])"
MASK = 'x = tl.where((j < S_k)[None, :], x, -float("inf"))'
NEWER = "        newer = tl.maximum(top, tl.max(x, axis=1))\n"
LSE = "lse = tl.load(lse_ptr + head * S_q + i, mask=i < S_q, other="
DO = "g = tl.load(g_ptr + at, mask=(i < S_q)[:, None], other="

# name: exercise, source, edits, the line that is blamed, words of the sentence, names that are not right
ANSWERS = {
    "dP transposed": (
        "dkv_kernel", BACKWARD, [("r = tl.dot(g, tl.trans(v)", "r = tl.dot(v, tl.trans(g)")],
        "r = tl.dot(v", "`r`, computed in line 23, is dO Vᵀ transposed, and line 24 (`t`) reads it beside",
        {"r"},
    ),
    "dP not transposed where P is": (
        "dkv_kernel", TRANSPOSED, [("r = tl.dot(v, tl.trans(g)", "r = tl.dot(g, tl.trans(v)")],
        "r = tl.dot(g", "is dO Vᵀ transposed", {"r"},
    ),
    "alpha in dS and at the end": (
        "dkv_kernel", BACKWARD, [(DS, "t = alpha * p * (r - delta[:, None])")],
        "t = alpha", "line 26 makes alpha (0.25) times dK of it. If line 24 gives P ∘ (dP − delta)",
        {"t"},
    ),
    "alpha twice in S": (
        "flash_forward", FORWARD, [("x = tl.dot(q,", "x = alpha * tl.dot(q,")],
        "x = x * alpha", "is alpha (0.25) times alpha Q Kᵀ; here the old `x` is alpha Q Kᵀ already", {"x"},
    ),
    "log2 e in S, and exp everywhere": (
        "flash_forward", FORWARD, [("x = x * alpha", "x = x * (alpha * 1.4426950408889634)")],
        "x = x * (alpha", "is log2 e (1.443) times alpha Q Kᵀ, and line 24 (`e`) reads it as alpha Q Kᵀ",
        {"x"},
    ),
    "log2 e in S of a backward kernel": (
        "dkv_kernel", BACKWARD, [(S, "s = 1.4426950408889634 * alpha * tl.dot(")],
        "s = 1.44", "is log2 e (1.443) times alpha Q Kᵀ", {"s"},
    ),
    "base 2, but for the factor of old sums": (
        "flash_forward", BASE_2, [("shrink = tl.exp2(", "shrink = tl.exp(")],
        "shrink = tl.exp(", "`top` and `newer` are log2 e (1.443) times the maximum", {"top", "newer"},
    ),
    "the maximum overwritten first": (
        "flash_forward", FORWARD,
        [(NEWER, f"{NEWER}        top = newer\n"), ("        top = newer\n    tl.store", "    tl.store")],
        "shrink = ", "line 24, `shrink` is not exp(m_old − m_new); here `top` is the new maximum already",
        {"top"},
    ),
    "one padded key counts": (
        "flash_forward", FORWARD, [(MASK, MASK.replace("j < S_k", "j <= S_k"))],
        "x = tl.where(", "the last key, but the padding beyond it enters `total` in line 25", {"x", "e"},
    ),
    "padded queries count": (
        "dkv_kernel", BACKWARD, [(f'{LSE}float("inf"))', f"{LSE}0.0)"), (f"{DO}0.0)", f"{DO}1.0)")],
        "s = alpha", "the last query, but the padding beyond it enters `to_v` in line 22", {"s", "p"},
    ),
    "dK of dS and dO": (
        "dkv_kernel", BACKWARD, [("tl.dot(tl.trans(t), q", "tl.dot(tl.trans(t), g")],
        "to_k += ", "though `t` is right; here `g` is dO", {"g"},
    ),
    "no P in dS": (
        "dkv_kernel", BACKWARD, [(DS, "t = r - delta[:, None]")],
        "t = r", "is dP − delta, where line 25 (`to_k`) needs P ∘ (dP − delta)", {"t"},
    ),
    "scores summed for their exponentials": (
        "flash_forward", FORWARD, [("tl.sum(e, axis=1)", "tl.sum(x, axis=1)")],
        "total = ", "here `x` is alpha Q Kᵀ", {"x"},
    ),
    "P times a number": (
        "dkv_kernel", BACKWARD, [(P, "p = tl.exp(s - lse[:, None] - 1.0)")],
        "p = tl.exp", "`p` is 0.3679 times exp(S − LSE), though `s` and `lse` are right", set(),
    ),
    "a mask with S_q for S_k − S_q": (
        "flash_forward_causal", CAUSAL, [("i[:, None] + S_k - S_q", "i[:, None] + S_q")],
        "seen = ", "it shows key 34 to query 0, which may not see it", set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_right_only_up_to_something_is_the_finding(name):
    exercise_name, source, edits, text, words, not_right = ANSWERS[name]
    exercise, function = find(exercise_name), made(source, *edits)
    outcome = outcome_of(exercise, function)
    found = first_divergence(exercise, function, [outcome])
    assert found is not None
    assert found.place.text.strip().startswith(text), found.sentence
    assert words in found.sentence
    assert not not_right & set(found.facts.get("agrees", ()) or found.facts.get("others", ()))


@pytest.mark.parametrize("name", ANSWERS)
def test_every_sentence_names_its_case(name):
    exercise_name, source, edits, *_ = ANSWERS[name]
    exercise, function = find(exercise_name), made(source, *edits)
    outcome = outcome_of(exercise, function)
    found = first_divergence(exercise, function, [outcome])
    assert found.sentence.endswith(f"(case {outcome.case.name}).")


def test_a_name_that_gives_only_its_type_is_not_among_what_a_line_was_made_of():
    exercise, function = find("dkv_kernel"), made(BACKWARD, (DS, "t = (p * r).to(q.dtype)"))
    found = first_divergence(exercise, function, [outcome_of(exercise, function)])
    assert found.facts["agrees"] == ("p", "r")


def test_a_factor_is_named_only_where_alpha_is_no_ordinary_number():
    assert factor_words(0.25, 0.25) == "alpha (0.25)"
    assert factor_words(0.5, 0.5) == "0.5"
    assert factor_words(-1.0, 0.25) == "−1"


def test_a_departure_that_can_be_no_quantity_ends_the_search():
    edits = [
        ("total = total * shrink +", "total = total * shrink * 1.5 +"),
        ("out = out * shrink[:, None]", "out = out"),
    ]
    exercise, function = (
        find("flash_forward"),
        made(FORWARD, *edits, ("x = x * alpha", "x = x * alpha + 1.0 * i[:, None]")),
    )
    assert first_divergence(exercise, function, [outcome_of(exercise, function)]) is None
