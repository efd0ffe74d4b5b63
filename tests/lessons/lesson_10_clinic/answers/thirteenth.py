"""Answers to lesson 10, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "clinic_6",
    "line m_i + tl.log2(l_i) / log2e: only the logarithm of l goes back to base e, the maximum "
    "stays in base 2",
    "only l is converted",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_6_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # in powers of two, as fast kernels do it: e^x = 2^(x log2 e)
    log2e: tl.constexpr = 1.4426950408889634
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * log2e * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp2(m_i - m_new)
        p = tl.exp2(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i) / log2e, mask=in_queries)


def clinic_6(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_6_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
""",
        title="only log l converted",
    )
)

wrong(
    "clinic_9",
    "line acc = (acc + pv) * rescale: the new tile is already in the new unit and must not be multiplied",
    "old and new are rescaled",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_9_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # forward, all keys visible
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")
        acc = (acc + pv) * rescale[:, None]
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_9(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_9_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
""",
        title="new part rescaled too",
    )
)

wrong(
    "clinic_4",
    "line p = tl.where((safe < S_q)...): the clamped row numbers are always below S_q, so nothing is masked",
    "padded queries repeat the last one",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_4_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # a program owns a block of keys; row numbers stop at the last query, so that its loads need no mask
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        safe = tl.minimum(rows, S_q - 1)
        query_tile = safe[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile)
        do = tl.load(do_ptr + query_tile)
        lse_i = tl.load(lse_ptr + safe)
        delta_i = tl.load(delta_ptr + safe)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where((safe < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_4(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_4_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk, dv
""",
        title="mask on clamped rows",
    )
)

wrong(
    "clinic_2",
    "line tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk): half mended, the old content is "
    "loaded, added to the share and then added atomically once more",
    "what was there is added again",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_2_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # two programs for each block of keys: each scans one half of the queries, and adds what it found
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    half = tl.cdiv(S_q, 2)
    first = tl.program_id(1) * half
    end = tl.minimum(S_q, first + half)
    for start in range(first, end, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_half = rows < end
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_half[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_half[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_half, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_half, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])


def clinic_2(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    grid = (triton.cdiv(S_k, BLOCK), 2)
    clinic_2_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk.to(k.dtype), dv.to(v.dtype)
""",
        title="atomic and loaded sum",
    )
)

wrong(
    "tests_on_trial",
    "the list repeats one shape with other random numbers: square, not causal and small, so "
    "mutants that need ragged, causal or unequal lengths survive",
    "one ordinary test",
)(
    written(
        """
from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    trials = [Trial(q, k, v, do, alpha)]
    for scale in (0.1, 0.5, 1.0, 2.0):
        trials.append(Trial(q * scale, k * scale, v, do, alpha))
    return trials
""",
        title="more of the same",
    )
)
