"""Lesson 08: right dK/dV kernels pass in any spelling, padding does what the lesson says of it."""

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import flash_backward_dkv as kernels
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.lessons import find
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import faulty_dkv
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import backward_pictures as pictures
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple
from tests.reviewing import reviewed

EXERCISES = {name: find(name) for name in ("dkv_kernel", "dkv_kernel_causal")}


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    return {o.status for o in run(exercise, function, compiled=False)}


# ---------------------------------------------------------------- the data


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
        wrong = as_tuple(declared.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))
        for index, output in enumerate(wrong):
            error = largest_error(output.to(case.dtype), truth.expected[index])
            worst = max(worst, error / truth.allowed(index)[0])
    assert worst > 100


@pytest.mark.parametrize("causal", [False, True])
def test_the_parts_of_the_wrong_formulas_are_right_where_nothing_is_changed(causal):
    case = attention_case(7, 5, 8, seed=1)
    inputs = convert(backward.backward_inputs(case, case.generator(), causal), torch.float64)
    got = dkv_scan(**inputs, causal=causal)
    for mine, theirs in zip(got, reference.attention_gradients(**inputs, causal=causal)[1:], strict=True):
        torch.testing.assert_close(mine, theirs)


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("block", [16, 64])
@pytest.mark.parametrize("name", EXERCISES)
def test_the_kernels_are_right_with_other_blocks(name, block):
    kernel = getattr(kernels, name)
    assert statuses(EXERCISES[name], lambda *given: kernel(*given, block=block)) == {Status.PASS}


@triton.jit
def _keys_first_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    keys = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    own = head * S_k * D + keys[:, None] * D + d[None, :]
    own_mask = (keys < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + own, mask=own_mask, other=0.0)
    v = tl.load(v_ptr + own, mask=own_mask, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        in_rows = rows < S_q
        tile = head * S_q * D + rows[:, None] * D + d[None, :]
        mask = in_rows[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + tile, mask=mask, other=0.0)
        do = tl.load(do_ptr + tile, mask=mask, other=0.0)
        lse = tl.load(lse_ptr + head * S_q + rows, mask=in_rows, other=0.0)
        delta = tl.load(delta_ptr + head * S_q + rows, mask=in_rows, other=0.0)
        p = tl.exp2(
            (alpha * 1.4426950408889634) * tl.dot(k, tl.trans(q), input_precision="ieee")
            - (1.4426950408889634 * lse)[None, :]
        )  # (BLOCK_K, BLOCK_Q): Pᵀ, so that nothing has to be transposed
        p = tl.where(in_rows[None, :], p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
        ds = p * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    tl.store(dk_ptr + own, alpha * dk, mask=own_mask)
    tl.store(dv_ptr + own, dv, mask=own_mask)


def test_a_right_kernel_with_keys_as_rows_and_base_2_passes():
    def dkv(q, k, v, o, do, lse, alpha):
        q, k, v, do = (t.contiguous() for t in (q, k, v, do))
        B, H, S_q, D = q.shape
        S_k = k.shape[2]
        dk = torch.empty((B, H, S_k, D), dtype=q.dtype, device=q.device)
        dv = torch.empty((B, H, S_k, D), dtype=q.dtype, device=q.device)
        _keys_first_kernel[(triton.cdiv(S_k, 64), B * H)](
            q, k, v, do, lse, delta_preprocess(o, do), dk, dv, alpha, S_q, S_k, D,
            BLOCK_Q=32, BLOCK_K=64, BLOCK_D=max(16, triton.next_power_of_2(D)),
        )  # fmt: skip
        return dk, dv

    assert statuses(EXERCISES["dkv_kernel"], dkv) == {Status.PASS}


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("fault", ["", "LSE filled with 0"])
def test_padded_queries_whose_p_is_1_leak_nothing_where_do_is_filled_with_zeros(name, fault):
    assert statuses(EXERCISES[name], faulty_dkv(fault, causal=name.endswith("causal"))) == {Status.PASS}


def test_other_fillers_do_what_the_lesson_says():
    case = attention_case(37, 48, 16, seed=2)
    given = backward.backward_inputs(case, case.generator())
    with flashlearn.observing():
        dk, dv = kernels.dkv_kernel(**given)
        assert all(t.isnan().all() for t in faulty_dkv("LSE filled with -inf")(**given))
        dk_clamped, dv_clamped = faulty_dkv("clamped rows")(**given)
    p_last = reference.softmax_from_lse(reference.attention_scores(given["q"], given["k"], given["alpha"]))
    copies = 27 * p_last[..., -1:, :].mT @ given["do"][..., -1:, :]  # 64 − 37 padded rows
    torch.testing.assert_close(dv_clamped - dv, copies, rtol=1e-4, atol=1e-5)
    assert (dk_clamped - dk).abs().max() > 0.1


def test_a_query_that_sees_nothing_spoils_no_key():
    case = attention_case(100, 36, 16, seed=3)
    given = backward.causal_backward_inputs(case, case.generator())
    with flashlearn.observing() as (session, _):
        dk, dv = kernels.dkv_kernel_causal(**given)
    assert bool(torch.isfinite(dk).all() and torch.isfinite(dv).all())
    tiles = 2 + 1  # keys 0 to 31 are seen from query 64 on, keys 32 to 35 from query 96 on
    assert session.observation().operations["dot"] == tiles * 4 * 2 * 32 * 32 * 16


@pytest.mark.parametrize("sizes", [(192, 112), (64, 100), (33, 20)])
def test_the_causal_kernel_multiplies_as_many_tiles_as_the_picture_shows(sizes):
    case = attention_case(*sizes, 16, seed=4)
    given = backward.causal_backward_inputs(case, case.generator())
    with flashlearn.observing() as (session, _):
        kernels.dkv_kernel_causal(**given)
    tiles = session.observation().operations["dot"] / (4 * 2 * 32 * 32 * 16)
    assert tiles == sum(what != "left out" for what in pictures.visits(*sizes, 32, "keys").values())


def test_scanning_twice_takes_seven_products():
    case = attention_case(64, 64, 16, seed=5)
    given = backward.backward_inputs(case, case.generator())
    with flashlearn.observing() as (session, _):
        dq_kernel(**given)
        kernels.dkv_kernel(**given)
    assert session.observation().operations["dot"] == 7 * 2 * 64 * 64 * 16


def test_a_causal_kernel_leaves_hidden_tiles_out():
    assert reviewed(EXERCISES["dkv_kernel_causal"], kernels.dkv_kernel_causal) == ""
    assert "28 tiles" in reviewed(EXERCISES["dkv_kernel_causal"], kernels.dkv_kernel)
