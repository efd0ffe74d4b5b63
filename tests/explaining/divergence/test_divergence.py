"""The first value that departs is found by its numbers, at the right line, or nothing is said."""

from __future__ import annotations

import linecache
import textwrap
import types
from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.exercise import Exercise
from flashlearn.explaining import divergence
from flashlearn.explaining.divergence import first_divergence
from flashlearn.interpreter.observers.assigned_values import ValueRecorder
from flashlearn.interpreter.route import observing
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.outcome import Outcome, Status

FORWARD = """
@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr,
           BLOCK_K: tl.constexpr):
    head = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    alive = i < S_q
    at = head * S_q * D + i[:, None] * D + d[None, :]
    q = tl.load(q_ptr + at, mask=alive[:, None], other=0.0)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    out = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + tl.arange(0, BLOCK_K)
        tile = head * S_k * D + j[:, None] * D + d[None, :]
        k = tl.load(k_ptr + tile, mask=(j < S_k)[:, None], other=0.0)
        v = tl.load(v_ptr + tile, mask=(j < S_k)[:, None], other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee")
        x = x * alpha
        x = tl.where((j < S_k)[None, :], x, -float("inf"))
        newer = tl.maximum(top, tl.max(x, axis=1))
        shrink = tl.exp(top - newer)
        e = tl.exp(x - newer[:, None])
        total = total * shrink + tl.sum(e, axis=1)
        out = out * shrink[:, None] + tl.dot(e, v, input_precision="ieee")
        top = newer
    tl.store(o_ptr + at, out / total[:, None], mask=alive[:, None])
    tl.store(lse_ptr + head * S_q + i, top + tl.log(total), mask=alive)


def launcher(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, S_q, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S_q), dtype=torch.float32)
    grid = (triton.cdiv(S_q, 16), B * H)
    kernel[grid](q, k, v, o, lse, alpha, S_q, k.shape[2], D=D, BLOCK=16, BLOCK_K=32)
    return o, lse
"""

CAUSAL = FORWARD.replace(
    "        x = tl.where((j < S_k)[None, :], x,",
    "        seen = (j < S_k)[None, :] & (j[None, :] <= i[:, None] + S_k - S_q)\n"
    "        x = tl.where(seen, x,",
)

BACKWARD = """
@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, g_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
           D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1)
    d = tl.arange(0, D)
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mine = head * S_k * D + j[:, None] * D + d[None, :]
    k = tl.load(k_ptr + mine, mask=(j < S_k)[:, None], other=0.0)
    v = tl.load(v_ptr + mine, mask=(j < S_k)[:, None], other=0.0)
    to_k = tl.zeros((BLOCK, D), tl.float32)
    to_v = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        i = start + tl.arange(0, BLOCK)
        at = head * S_q * D + i[:, None] * D + d[None, :]
        q = tl.load(q_ptr + at, mask=(i < S_q)[:, None], other=0.0)
        g = tl.load(g_ptr + at, mask=(i < S_q)[:, None], other=0.0)
        lse = tl.load(lse_ptr + head * S_q + i, mask=i < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + head * S_q + i, mask=i < S_q, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        to_v += tl.dot(tl.trans(p), g, input_precision="ieee")
        r = tl.dot(g, tl.trans(v), input_precision="ieee")
        t = p * (r - delta[:, None])
        to_k += tl.dot(tl.trans(t), q, input_precision="ieee")
    tl.store(dk_ptr + mine, alpha * to_k, mask=(j < S_k)[:, None])
    tl.store(dv_ptr + mine, to_v, mask=(j < S_k)[:, None])


def launcher(q, k, v, o, do, lse, alpha):
    delta = (o * do).sum(-1).contiguous()
    q, k, v, do, lse = (x.contiguous() for x in (q, k, v, do, lse))
    B, H, S_q, D = q.shape
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    kernel[(triton.cdiv(k.shape[2], 16), B * H)](
        q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, k.shape[2], D=D, BLOCK=16)
    return dk, dv
"""

TRANSPOSED = BACKWARD
for _old, _new in (
    ("s = alpha * tl.dot(q, tl.trans(k)", "s = alpha * tl.dot(k, tl.trans(q)"),
    ("p = tl.exp(s - lse[:, None])", "p = tl.exp(s - lse[None, :])"),
    ("tl.dot(tl.trans(p), g", "tl.dot(p, g"),
    ("r = tl.dot(g, tl.trans(v)", "r = tl.dot(v, tl.trans(g)"),
    ("t = p * (r - delta[:, None])", "t = p * (r - delta[None, :])"),
    ("tl.dot(tl.trans(t), q", "tl.dot(t, q"),
):
    assert TRANSPOSED.count(_old) == 1
    TRANSPOSED = TRANSPOSED.replace(_old, _new)

BASE_2 = FORWARD
for _old, _new in (
    ("x = x * alpha", "x = x * (alpha * 1.4426950408889634)"),
    ("shrink = tl.exp(", "shrink = tl.exp2("),
    ("e = tl.exp(", "e = tl.exp2("),
    ("top + tl.log(total)", "(top + tl.log2(total)) / 1.4426950408889634"),
):
    assert BASE_2.count(_old) == 1
    BASE_2 = BASE_2.replace(_old, _new)


def made(source: str, *edits: tuple[str, str]) -> Callable:
    """The launcher of a source with other lines."""
    for old, new in edits:
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
        source = source.replace(old, new)
    source = textwrap.dedent(source)
    file = f"<divergence {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType("learner")
    vars(module).update(torch=torch, triton=triton, tl=tl)
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return vars(module)["launcher"]


def outcome_of(exercise: Exercise, function: Callable, S_q: int = 37, S_k: int = 70) -> Outcome:
    """One case with several tiles along both axes, the last of them ragged."""
    return run_observed(exercise, function, attention_case(S_q, S_k, 16, seed=3))


# name: exercise, source, edits, the line's text, the quantity, words of the sentence
WRONG = {
    "acc is not rescaled": (
        "flash_forward", FORWARD, [("out = out * shrink[:, None] +", "out = out +")],
        "out = out + tl.dot", "sum of exp(S − m) V", "was not rescaled",
    ),
    "l is not rescaled": (
        "flash_forward", FORWARD, [("total = total * shrink +", "total = total +")],
        "total = total + tl.sum", "sum of exp(S − m)", "was not rescaled",
    ),
    "neither is rescaled": (
        "flash_forward", FORWARD,
        [("out = out * shrink[:, None] +", "out = out +"), ("total = total * shrink +", "total = total +")],
        "total = total + tl.sum", "sum of exp(S − m)", "was not rescaled",
    ),
    "alpha twice in S": (
        "flash_forward", FORWARD, [("x = x * alpha", "x = x * alpha * alpha")],
        "x = x * alpha * alpha", "alpha Q Kᵀ", "alpha (0.25) times alpha Q Kᵀ, though the old `x` is right",
    ),
    "padded keys count in l": (
        "flash_forward", FORWARD, [("x = tl.where((j < S_k)[None, :], x, -float(\"inf\"))", "x = x")],
        "x = x", "", "enters `total`",
    ),
    "LSE in base 2": (
        "flash_forward", FORWARD, [("top + tl.log(total)", "top + tl.log2(total)")],
        "tl.store(lse_ptr", "LSE", "is not LSE (case",
    ),
    "K by the wrong stride from the second tile on": (
        "flash_forward", FORWARD,
        [("k = tl.load(k_ptr + tile,", "k = tl.load(k_ptr + head * S_k * D + (j + start)[:, None] % S_k * D"
                " + d,")],
        "k = tl.load", "K", "rows 32 to 63 of K",
    ),
    "V's tile added without P": (
        "flash_forward", FORWARD, [("tl.dot(e, v,", "tl.dot(x, v,")],
        None, "", "",
    ),
    "base 2, exp in one place": (
        "flash_forward", BASE_2, [("e = tl.exp2(", "e = tl.exp(")],
        "e = tl.exp(", "exp(S − m)", "`x` is log2 e (1.443) times alpha Q Kᵀ and `newer` is",
    ),
    "mask one key too strict": (
        "flash_forward_causal", CAUSAL, [("j[None, :] <= i", "j[None, :] < i")],
        "seen = ", "the mask of the keys that a query sees", "hides key",
    ),
    "mask one key too generous": (
        "flash_forward_causal", CAUSAL, [("<= i[:, None] + S_k - S_q", "<= i[:, None] + S_k - S_q + 1")],
        "seen = ", "the mask of the keys that a query sees", "shows key",
    ),
    "delta is missing": (
        "dkv_kernel", BACKWARD, [("t = p * (r - delta[:, None])", "t = p * r")],
        "t = p * r", "P ∘ (dP − delta)", "delta is not subtracted",
    ),
    "delta along the keys": (
        "dkv_kernel", BACKWARD, [("r - delta[:, None]", "r - delta[None, :]")],
        "t = p * (r - delta[None, :])", "P ∘ (dP − delta)", "`p`, `r` and `delta` are right",
    ),
    "dP from Q": (
        "dkv_kernel", BACKWARD, [("r = tl.dot(g, tl.trans(v)", "r = tl.dot(q, tl.trans(v)")],
        "r = tl.dot(q, tl.trans(v)", "dO Vᵀ", "`v` is right; here `q` is Q (case",
    ),
    "dS not transposed": (
        "dkv_kernel", BACKWARD, [("tl.dot(tl.trans(t), q", "tl.dot(t, q")],
        "to_k += tl.dot(t, q", "the sum of dSᵀ Q", "",
    ),
    "alpha is missing from dK": (
        "dkv_kernel", BACKWARD, [("alpha * to_k", "to_k")],
        "tl.store(dk_ptr", "dK", "is 1/alpha (4) times dK (case",
    ),
    "alpha is missing from S": (
        "dkv_kernel", BACKWARD, [("s = alpha * tl.dot(", "s = tl.dot(")],
        "s = tl.dot(", "alpha Q Kᵀ", "without alpha",
    ),
    "only the last tile of dV": (
        "dkv_kernel", BACKWARD, [("to_v += tl.dot", "to_v = tl.dot")],
        "to_v = tl.dot", "the sum of Pᵀ dO", "only this tile's share",
    ),
    "a second mask, too strict, after the right one": (
        "flash_forward_causal", CAUSAL,
        [("        newer =", "        x = tl.where(j[None, :] < i[:, None] + S_k - S_q, x, -float(\"inf\"))\n"
          "        newer =")],
        "x = tl.where(j[None, :] < i", "alpha Q Kᵀ", "it hides key",
    ),
    "the only mask is the second one, and wrong": (
        "flash_forward_causal", FORWARD,
        [("        newer =", "        x = tl.where(j[None, :] <= i[:, None], x, -float(\"inf\"))\n"
          "        newer =")],
        "x = tl.where(j[None, :] <= i", "alpha Q Kᵀ", "it hides key",
    ),
    "divided inside the loop": (
        "flash_forward", FORWARD,
        [("out = out * shrink[:, None] + tl.dot(e, v, input_precision=\"ieee\")",
          "out = (out * shrink[:, None] + tl.dot(e, v, input_precision=\"ieee\")) / total[:, None]")],
        "out = (out * shrink", "sum of exp(S − m) V", "In tile (0, 0)",
    ),
    "transposed tiles, LSE along the keys": (
        "dkv_kernel", TRANSPOSED, [("lse[None, :]", "lse[:, None]")],
        "p = tl.exp(s - lse[:, None])", "exp(S − LSE)", "`s` and `lse` are right",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """What is found must not depend on how busy the machine is."""
    monkeypatch.setattr(divergence, "BUDGET", 300_000)


@pytest.mark.parametrize("name", WRONG)
def test_the_first_departure_is_at_the_line_that_makes_it(name):
    exercise_name, source, edits, text, quantity, words = WRONG[name]
    exercise = find(exercise_name)
    function = made(source, *edits)
    outcome = outcome_of(exercise, function)
    assert outcome.status is Status.WRONG
    found = first_divergence(exercise, function, [outcome])
    if text is None:
        assert found is None or "out = " in found.place.text
        return
    assert found is not None, "nothing was said"
    assert found.place.text.strip().startswith(text.strip()), found.sentence
    assert quantity in found.facts.get("quantity", "")
    assert words in found.sentence
    assert f"line {found.place.line}" in found.sentence


PADDED = """
@triton.jit
def kernel(s_ptr, p_ptr, N, s_row, s_col, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=0.0)
    e = tl.exp(s - tl.max(s, axis=0))
    total = tl.sum(e, axis=0)
    tl.store(p_ptr + i * N + j, e / total, mask=j < N)


def launcher(s):
    p = torch.empty(s.shape, dtype=s.dtype)
    kernel[(s.shape[0],)](s, p, s.shape[1], *s.stride(), BLOCK=triton.next_power_of_2(s.shape[1]))
    return p
"""


def test_padding_that_counts_is_blamed_on_the_load_and_not_on_the_sum():
    exercise, function = find("softmax_forward"), made(PADDED)
    outcomes = [run_observed(exercise, function, case) for case in exercise.cases[:2]]
    found = first_divergence(exercise, function, outcomes)
    assert "other=0.0" in found.place.text
    assert "`s`" in found.sentence and "`total`" in found.sentence and "though" not in found.sentence


@pytest.mark.parametrize("name", ["acc is not rescaled", "padded keys count in l", "mask one key too strict"])
def test_nothing_is_said_when_no_time_is_left(name, monkeypatch):
    exercise_name, source, edits, *_ = WRONG[name]
    function = made(source, *edits)
    outcome = outcome_of(find(exercise_name), function)
    monkeypatch.setattr(divergence, "BUDGET", 0)
    assert first_divergence(find(exercise_name), function, [outcome]) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shrink = tl.exp(top - newer)", "shrink = tl.exp(newer - top)"),
        ("        top = newer\n", "        top = newer\n        out = out * shrink[:, None]\n"),
    ],
    ids=["the factor turned round", "rescaled once more, after the sum"],
)
def test_what_only_mends_by_chance_is_not_pointed_at(old, new):
    function = made(FORWARD, (old, new))
    outcome = outcome_of(find("flash_forward"), function)
    found = first_divergence(find("flash_forward"), function, [outcome])
    assert found is None or found.place.text.strip() == new.strip().splitlines()[-1].strip()


def pre_scaled(source: str) -> list[tuple[str, str]]:
    return [
        ("other=0.0)\n    top", "other=0.0) * alpha\n    top"),
        ("x = x * alpha", "x = x * 1.0"),
    ]


RIGHT = {
    "plain": ("flash_forward", FORWARD, []),
    "base 2": ("flash_forward", BASE_2, []),
    "causal": ("flash_forward_causal", CAUSAL, []),
    "Q scaled when it is loaded": ("flash_forward", FORWARD, pre_scaled(FORWARD)),
    "a large negative number for −inf": (
        "flash_forward", FORWARD, [('x, -float("inf"))', "x, -1e30)")],
    ),
    "other blocks": ("flash_forward", FORWARD, [("BLOCK=16, BLOCK_K=32", "BLOCK=32, BLOCK_K=16")]),
    "dK and dV": ("dkv_kernel", BACKWARD, []),
    "transposed tiles": ("dkv_kernel", TRANSPOSED, []),
    "dS multiplied out": (
        "dkv_kernel", BACKWARD, [(
                "t = p * (r - delta[:, None])",
                "t = p * r\n        t = t - p * delta[:, None]",
            )],
    ),
    "alpha in dS": (
        "dkv_kernel", BACKWARD,
        [("t = p * (r", "t = alpha * p * (r"), ("alpha * to_k", "to_k")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_of_a_right_kernel_nothing_is_said(name):
    exercise_name, source, edits = RIGHT[name]
    exercise = find(exercise_name)
    function = made(source, *edits)
    outcome = outcome_of(exercise, function)
    assert outcome.status is Status.PASS, outcome.message
    assert first_divergence(exercise, function, [outcome]) is None
    suspected = Outcome(outcome.case, Status.WRONG, outputs=outcome.outputs)
    assert first_divergence(exercise, function, [suspected]) is None


STYLES = {
    "base 2": ("flash_forward", BASE_2, [("out = out * shrink[:, None] +", "out = out +")], "out = out +"),
    "Q scaled when it is loaded": (
        "flash_forward", FORWARD,
        [*pre_scaled(FORWARD), ("total = total * shrink +", "total = total +")], "total = total +",
    ),
    "other blocks": (
        "flash_forward", FORWARD,
        [("BLOCK=16, BLOCK_K=32", "BLOCK=32, BLOCK_K=16"), ("out = out * shrink[:, None] +", "out = out +")],
        "out = out +",
    ),
    "transposed tiles": (
        "dkv_kernel", TRANSPOSED, [("t = p * (r - delta[None, :])", "t = p * r")], "t = p * r",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STYLES)
def test_the_style_does_not_hide_the_line(name):
    exercise_name, source, edits, text = STYLES[name]
    exercise, function = find(exercise_name), made(source, *edits)
    found = first_divergence(exercise, function, [outcome_of(exercise, function)])
    assert found is not None
    assert found.place.text.strip().startswith(text)


def test_a_later_tile_is_named_with_the_one_before_it():
    exercise = find("flash_forward")
    function = made(FORWARD, ("out = out * shrink[:, None] +", "out = out +"))
    found = first_divergence(exercise, function, [outcome_of(exercise, function)])
    assert found.facts["tile"] == (0, 1)
    assert found.sentence.startswith(
        "Up to and including tile (0, 0), no result is wrong; in tile (0, 1), line "
    )
    assert set(found.facts["agrees"]) == {"e", "v"}


def test_two_mistakes_that_no_single_line_explains_are_not_named():
    exercise = find("dkv_kernel")
    function = made(
        BACKWARD,
        ("alpha * to_k", "2 * to_k"),
        ("tl.store(dv_ptr + mine, to_v,", "tl.store(dv_ptr + mine, 3 * to_v,"),
    )
    assert first_divergence(exercise, function, [outcome_of(exercise, function)]) is None


def test_a_loop_that_ends_early_is_not_blamed_on_the_store():
    exercise = find("flash_forward")
    function = made(FORWARD, ("range(0, S_k, BLOCK_K)", "range(0, S_k // BLOCK_K * BLOCK_K, BLOCK_K)"))
    assert first_divergence(exercise, function, [outcome_of(exercise, function)]) is None


def test_a_kernel_that_fails_on_replay_says_nothing():
    calls = []
    right = made(FORWARD, ("top + tl.log(total)", "top + tl.log2(total)"))

    def moody(q, k, v, alpha):
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("not today")
        return right(q, k, v, alpha)

    exercise = find("flash_forward")
    outcome = outcome_of(exercise, moody)
    assert outcome.status is Status.WRONG
    assert first_divergence(exercise, moody, [outcome]) is None


def test_an_exercise_without_quantities_has_no_divergence():
    exercise = find("scaled_add")
    assert exercise.explained.quantities is None
    assert first_divergence(exercise, lambda a, x, y: x, []) is None


def test_values_know_line_loop_and_program_and_can_be_replaced():
    exercise = find("flash_forward")
    function = made(FORWARD)
    case = attention_case(17, 40, 16, seed=1)
    inputs = exercise.inputs(case, case.generator())
    values = ValueRecorder()
    with observing(observers=(values,)):
        o, _ = function(*inputs.values())
    scores = [e for e in values.events if e.site.name == "e" and e.program == (0, 0, 0)]
    assert [e.scope[-1][1] for e in scores] == [0, 1]
    assert scores[0].place.text.strip().startswith("e = tl.exp(")
    instead = {e.number: 2 * e.array for e in values.events if e.site.name == "total" and not e.scope}
    instead |= {e.number: 2 * e.array for e in values.events if e.site.name == "out"}
    with observing(observers=(ValueRecorder(instead),)):
        doubled, _ = function(*inputs.values())
    assert not torch.allclose(o, doubled)


DV_FROM_Q = ("to_v += tl.dot(tl.trans(p), g,", "to_v += tl.dot(tl.trans(p), q,")
WITHOUT_DELTA = ("t = p * (r - delta[:, None])", "t = p * r")


def test_two_statements_that_depart_on_their_own_are_told_together():
    exercise, function = find("dkv_kernel"), made(BACKWARD, DV_FROM_Q, WITHOUT_DELTA)
    found = first_divergence(exercise, function, [outcome_of(exercise, function)])
    first, second = found.parts
    assert "`to_v`" in first.sentence and "here `q` is Q" in first.sentence
    assert "`t`" in second.sentence and "delta is not subtracted" in second.sentence
    assert found.sentence.startswith("There are two mistakes. (1) In tile")
    assert "no result is wrong" not in found.sentence


@pytest.mark.parametrize("edit", [DV_FROM_Q, WITHOUT_DELTA])
def test_a_statement_that_departs_alone_is_no_pair(edit):
    exercise, function = find("dkv_kernel"), made(BACKWARD, edit)
    found = first_divergence(exercise, function, [outcome_of(exercise, function)])
    assert not found.parts and "two mistakes" not in found.sentence
