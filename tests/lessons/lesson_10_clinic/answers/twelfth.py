"""Answers to lesson 10, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "clinic_10",
    "the arguments of the launch are put right, but the grid is counted in queries now "
    "(`triton.cdiv(S_q, BLOCK)`): blocks of keys are missing where S_k > S_q.",
    "never written",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_10_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # a program owns a block of keys, and scans the queries
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
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_10(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk, dv
""",
        title="grid of queries",
    )
)

wrong(
    "clinic_4",
    "p is masked only through the scores of padded keys (`tl.where(in_keys...)`) as before; the "
    "repeated last query of the ragged block still counts several times.",
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
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
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
        title="keeps the wrong mask",
    )
)

wrong(
    "clinic_5",
    "the mask was moved into s with −inf before the maximum, without a guard: a query that sees "
    "no key gets exp(−inf + inf) = NaN.",
    "rows that see nothing are NaN",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_5_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # causal: query i sees the keys j ≤ i + S_k − S_q
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
        seen = in_keys[None, :] & (columns[None, :] <= rows[:, None] + S_k - S_q)
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(o_ptr + query_tile, o, mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_5(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_5_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
""",
        title="mask with inf unguarded",
    )
)

wrong(
    "clinic_8",
    "acc starts in fp32, but each step rounds it to the dtype of v: `acc = "
    "(...).to(v.dtype).to(tl.float32)`.",
    "the accumulator is in half precision",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_8_kernel(
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
        acc = (acc * rescale[:, None] + pv).to(v.dtype).to(tl.float32)
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_8(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_8_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
""",
        title="rounds each step",
    )
)

wrong(
    "tests_on_trial",
    "every trial has S_q = S_k and a multiple of the block: the mutants that need ragged or "
    "unequal lengths, or empty rows, survive.",
    "every test is square + every test is a multiple of the block + every test has ordinary values + every tensor is contiguous",
)(
    written(
        """
from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    trials = [Trial(q, k, v, do, alpha)]
    for size in (16, 32, 64):
        trials.append(draw(size, size, 16, alpha=0.5, causal=True))
        trials.append(draw(size, size, 32, alpha=0.125, causal=False))
    return trials
""",
        title="all square",
    )
)
