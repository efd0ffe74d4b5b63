"""Lesson 07: the oracle is autograd's, right dQ kernels pass in any spelling, the data shows the mistakes."""

import math
from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import flash_backward_dq as kernels
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.lessons.lesson_07_dq.dq_kernel import dq_kernel
from flashlearn.lessons.lesson_07_dq.dq_kernel_causal import dq_kernel_causal
from flashlearn.lessons.lesson_07_dq.dq_without_delta import LIFTED
from flashlearn.lessons.lesson_07_dq.dq_without_delta import dq_without_delta as without_delta
from flashlearn.lessons.lesson_07_dq.faulty_kernels import faulty_dq
from flashlearn.lessons.lesson_07_dq.without_delta import (
    dq_in_torch,
    dq_in_torch_by_parts,
    dq_without_delta,
    in_one_scan,
)
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import backward_pictures as pictures
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import FP16, attention_case
from flashlearn.lessons.shared.faulty_formulas.gradients import dq_scan
from flashlearn.machine import memory
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple
from tests.reviewing import reviewed

EXERCISES = {e.name: e for e in (dq_kernel, dq_kernel_causal)}


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    return {o.status for o in run(exercise, function, compiled=False)}


# ---------------------------------------------------------------- the data


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("case", [c for c in backward.MANY_KEYS if not c.gpu], ids=lambda c: c.name)
def test_the_oracle_agrees_with_autograd_on_every_case(case, causal):
    wide = convert(backward.backward_inputs(case, case.generator(), causal), torch.float64)
    q, k, v, do, alpha = (wide[name] for name in ("q", "k", "v", "do", "alpha"))
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    o, lse = reference.attention_forward(*leaves, alpha, causal)
    expected = torch.autograd.grad(o, leaves, do)
    got = reference.attention_gradients(q, k, v, o.detach(), do, lse.detach(), alpha, causal)
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-8)
    near = 0.3 if case.dtype.itemsize == 2 else 2e-4  # o and lse as saved: rounded, as a kernel gets them
    given = reference.attention_gradients(**wide, causal=causal)
    assert all((a - b).abs().max() <= near for a, b in zip(given, expected, strict=True))


def test_special_cases_are_what_their_names_say():
    named = {c.data: backward.backward_inputs(c, c.generator()) for c in backward.MANY_KEYS if not c.gpu}
    low = named["scores near −120"]
    assert low["lse"].max() < -89  # exp(0 − lse) overflows in fp32
    constant = named["one column of V is 64"]
    assert bool((constant["v"][..., 0] == 64).all()) and bool((constant["o"][..., 0] == 64).all())
    own = named["each tensor laid out its own way"]
    assert len({own[name].stride() for name in ("q", "k", "v", "do")}) == 4


def test_causal_cases_have_queries_that_see_nothing_within_a_block_and_whole_blocks_of_them():
    empty = [c.sizes["S_q"] - c.sizes["S_k"] for c in backward.MANY_KEYS if not c.gpu]
    assert any(0 < n < 32 for n in empty) and any(n > 32 and n % 32 for n in empty)


NARROW = {"dP in half", "accumulator in half", "padded keys"}  # rounding and overflow: not in fp64


@pytest.mark.parametrize(
    "exercise, name",
    [
        (e, name)
        for e, x in EXERCISES.items()
        for name, m in x.explained.mistakes.items()
        if m.wrong and not m.wrong.keywords["faults"] & NARROW
    ],
)
def test_every_wrong_formula_misses_some_case_by_a_hundred_times_what_is_allowed(exercise, name):
    declared, worst = EXERCISES[exercise], 0.0
    for case in [c for c in declared.cases if not c.gpu]:
        inputs = declared.inputs(case, case.generator())
        truth = Truth(declared, inputs)
        wrong = as_tuple(declared.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))[0]
        worst = max(worst, largest_error(wrong.to(case.dtype), truth.expected[0]) / truth.allowed(0)[0])
    assert worst > 100


@pytest.mark.parametrize("causal", [False, True])
def test_the_parts_of_the_wrong_formulas_are_right_where_nothing_is_changed(causal):
    case = attention_case(7, 5, 8, seed=1)
    inputs = convert(backward.backward_inputs(case, case.generator(), causal), torch.float64)
    dq = dq_scan(**inputs, causal=causal)
    torch.testing.assert_close(dq, reference.attention_gradients(**inputs, causal=causal)[0])


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("block", [16, 64])
@pytest.mark.parametrize("name", EXERCISES)
def test_the_kernels_are_right_with_other_blocks(name, block):
    kernel = getattr(kernels, name)
    assert statuses(EXERCISES[name], lambda *given: kernel(*given, block=block)) == {Status.PASS}


@triton.jit
def _other_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, S_q, S_k, D, SPELLING: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_rows = rows < S_q
    own = head * S_q * D + rows[:, None] * D + d[None, :]
    own_mask = in_rows[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + own, mask=own_mask, other=0.0)
    do = tl.load(do_ptr + own, mask=own_mask, other=0.0)
    lse = tl.load(lse_ptr + head * S_q + rows, mask=in_rows, other=0.0)
    delta = tl.load(delta_ptr + head * S_q + rows, mask=in_rows, other=0.0)
    log2e: tl.constexpr = 1.4426950408889634
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        in_keys = keys < S_k
        tile = head * S_k * D + keys[:, None] * D + d[None, :]
        mask = in_keys[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + tile, mask=mask, other=0.0)
        v = tl.load(v_ptr + tile, mask=mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        if SPELLING == "base 2":
            p = tl.exp2(s * (alpha * log2e) - (lse * log2e)[:, None])
        else:
            p = tl.exp(s * alpha - lse[:, None])
        p = tl.where(in_keys[None, :], p, 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        if SPELLING == "alpha in dS":
            ds = alpha * ds
        acc = tl.dot(ds.to(k.dtype), k, acc, input_precision="ieee")
    if SPELLING != "alpha in dS":
        acc = alpha * acc
    tl.store(dq_ptr + own, acc, mask=own_mask)


@pytest.mark.parametrize("spelling", ["base 2", "alpha in dS"])
def test_a_right_kernel_passes_in_any_spelling(spelling):
    def dq(q, k, v, o, do, lse, alpha):
        q, k, v, do = (t.contiguous() for t in (q, k, v, do))
        B, H, S_q, D = q.shape
        S_k = k.shape[2]
        out = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
        _other_dq_kernel[(triton.cdiv(S_q, 32), B * H)](
            q, k, v, do, lse, delta_preprocess(o, do), out, alpha, S_q, S_k, D, SPELLING=spelling,
            BLOCK_Q=32, BLOCK_K=64, BLOCK_D=max(16, triton.next_power_of_2(D)),
        )  # fmt: skip
        return out

    assert statuses(dq_kernel, dq) == {Status.PASS}


@pytest.mark.parametrize("name", EXERCISES)
def test_delta_in_the_loop_is_right(name):
    function = faulty_dq("delta in the loop", causal=name.endswith("causal"))
    assert statuses(EXERCISES[name], function) == {Status.PASS}


def test_a_causal_kernel_that_visits_every_tile_is_right_and_is_told_to_leave_some_out():
    @triton.jit
    def kernel(dq_ptr, q_ptr, k_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
        d = tl.arange(0, 16)[None, :]
        rows = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None] * 16 + d
        q, dq = tl.load(q_ptr + rows), tl.zeros((BLOCK, 16), tl.float32)
        for start in range(0, N, BLOCK):
            k = tl.load(k_ptr + (start + tl.arange(0, BLOCK))[:, None] * 16 + d)
            dq += tl.dot(tl.dot(q, tl.trans(k)), k)
        tl.store(dq_ptr + rows, dq)

    def everything(q, k, v, o, do, lse, alpha):
        dq = torch.empty_like(q)
        kernel[(8,)](dq, q, k, N=256, BLOCK=32)
        return dq

    assert reviewed(dq_kernel_causal, kernels.dq_kernel_causal) == ""
    assert "multiplies 28 tiles" in reviewed(dq_kernel_causal, everything)


def test_queries_that_see_nothing_get_zeros_and_the_programs_that_own_only_such_do_no_product():
    case = attention_case(100, 36, 16, seed=3)
    given = backward.causal_backward_inputs(case, case.generator())
    with flashlearn.observing() as (session, _):
        dq = kernels.dq_kernel_causal(**given)
    assert not dq[:, :, :64].any()
    assert dq[:, :, 65:].any(dim=-1).all()  # query 64 sees one key: its P is 1 whatever it does
    tiles = 1 + 2  # queries 64 to 95 see keys up to 31, queries 96 to 99 all
    assert session.observation().operations["dot"] == tiles * 3 * 2 * 32 * 32 * 16


def test_the_peer_agrees_with_the_reference():
    case = attention_case(32, 32, 16, H=2, seed=4)
    for causal, peer in ((False, backward.sdpa_backward), (True, backward.sdpa_backward_causal)):
        given = backward.backward_inputs(case, case.generator(), causal)
        for mine, theirs in zip(
            peer(**given), reference.attention_gradients(**given, causal=causal), strict=True
        ):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_the_peer_agrees_with_the_reference_on_a_gpu():
    case = attention_case(128, 128, 64, H=2, dtype=FP16, seed=4)
    for causal, peer in ((False, backward.sdpa_backward), (True, backward.sdpa_backward_causal)):
        given = backward.backward_inputs(case, case.generator(), causal)
        given = {n: t.cuda() if torch.is_tensor(t) else t for n, t in given.items()}
        expected = reference.attention_gradients(**given, causal=causal)
        for mine, theirs in zip(peer(**given), expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-2, atol=1e-2)


# ---------------------------------------------------------------- the pictures


@pytest.mark.parametrize(
    "sizes", [(192, 192), (96, 192), (192, 112), (100, 64), (64, 100), (33, 20), (1, 37)]
)
def test_the_tiles_of_the_picture_are_those_that_hold_a_visible_pair_whoever_owns_them(sizes):
    visible = reference.visible(*sizes, causal=True)
    by_queries = pictures.visits(*sizes, 32, "queries")
    assert by_queries == pictures.visits(*sizes, 32, "keys")
    for (i, j), what in by_queries.items():
        tile = visible[32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
        expected = "whole" if tile.all() else "cut" if tile.any() else "left out"
        assert what == expected, (i, j)


@pytest.mark.parametrize("causal", [False, True])
def test_the_kernel_multiplies_as_many_tiles_as_the_picture_shows(causal):
    case = attention_case(100, 64, 16, seed=5)
    given = backward.backward_inputs(case, case.generator(), causal)
    kernel = kernels.dq_kernel_causal if causal else kernels.dq_kernel
    with flashlearn.observing() as (session, _):
        kernel(**given)
    tiles = session.observation().operations["dot"] / (3 * 2 * 32 * 32 * 16)
    shown = pictures.visits(100, 64, 32, "queries")
    assert tiles == (sum(what != "left out" for what in shown.values()) if causal else len(shown))


@pytest.mark.parametrize(
    "picture, says",
    [
        (pictures.parallel_shapes("dq"), "4 programs own a row of tiles"),
        (pictures.parallel_shapes("dq", "dkv", "one pass"), "all of them add to each block of dQ"),
        (pictures.causal_tiles("queries", ((192, 192), (192, 112))), "S 192 × 192: 21 of 36 tiles"),
        (pictures.causal_tiles("keys", ((96, 192),)), "15 of 18 tiles"),
        (pictures.requested({"a": {"x": 3.0, "y": 4.0}, "b": {"x": 1.0}}), "a: 7; b: 1"),
        (pictures.padded_tiles({"here": [[0.5], [math.inf]]}, real=1), "here P = ∞"),
    ],
)
def test_each_picture_is_drawn_and_says_what_it_shows(picture, says):
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")


# ---------------------------------------------------------------- dQ without delta


def test_without_delta_the_case_that_is_left_out_is_one_that_the_design_fails():
    (lifted,) = (case for case in dq_kernel.cases if case.data == LIFTED)
    assert len(without_delta.cases) == len(dq_kernel.cases) - 1
    alone = replace(dq_kernel, cases=(lifted,))
    assert statuses(alone, lambda q, k, v, o, *others: dq_without_delta(q, k, v, *others)) == {Status.WRONG}


def test_with_more_keys_than_a_tile_the_three_sums_agree_with_the_usual_kernel():
    case = attention_case(40, 70, 16, H=2, seed=7)
    given = backward.backward_inputs(case, case.generator())
    usual = kernels.dq_kernel(**given)
    del given["o"]
    for mine in (dq_without_delta(**given), in_one_scan(**given), dq_in_torch(**given)):
        torch.testing.assert_close(mine, usual, rtol=0, atol=2e-6)


def test_the_timed_peer_of_dq_without_delta_computes_the_same_in_parts(monkeypatch):
    """All of its matrices at once would take more of a GPU's memory than any answer."""
    monkeypatch.setattr(memory, "PART_ELEMENTS", 2 * 8 * 8)
    generator = torch.Generator().manual_seed(0)
    q, k, v, do = (torch.randn(5, 1, 8, 4, generator=generator) for _ in range(4))
    lse = torch.randn(5, 1, 8, generator=generator)
    parts = dq_in_torch_by_parts(q, k, v, do, lse, 0.5)
    torch.testing.assert_close(parts, dq_in_torch(q, k, v, do, lse, 0.5))
