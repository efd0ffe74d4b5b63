"""Answers to lesson 10, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "clinic_1",
    "dk = alpha * (dk + tl.dot(…)) scales the whole running sum in every round, so a tile that "
    "came r rounds before the last carries alpha^(r+1); alpha belongs on the share alone, or once"
    " on dk at the store.",
    "one edit",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_1_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # one pass: a program owns a block of keys, scans the queries, and adds to dQ atomically
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
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk = alpha * (dk + tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee"))
        dq = alpha * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + query_tile, dq, mask=in_queries[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])


def clinic_1(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.zeros((S_q, D), dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_1_kernel[grid](q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq.to(q.dtype), dk, dv
""",
        title="alpha on the running sum",
    )
)

wrong(
    "clinic_2",
    "tl.atomic_add(…, so_far + alpha * dk) adds the value that it has loaded a second time (and "
    "so_far is still read without order beside another program); only the share alpha * dk may be"
    " added.",
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
        title="atomic adds what was there",
    )
)

wrong(
    "clinic_3",
    "each part scans its quarter [part·quarter, end), but in_queries is still rows < S_q instead "
    "of rows < end, so the last tile of a part reaches into the next part and those queries are "
    "counted twice.",
    "parts that are no whole tiles",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_3_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr,
):
    # PARTS programs share each block of keys, and add their sums to dK and dV atomically
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.program_id(1)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    quarter = tl.cdiv(S_q, PARTS)
    for start in range(part * quarter, tl.minimum(S_q, (part + 1) * quarter), BLOCK):
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
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_3(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK, PARTS = q.shape, k.shape[0], 16, 4
    delta = (o.float() * do.float()).sum(-1)
    dk = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    grid = (triton.cdiv(S_k, BLOCK), PARTS)
    clinic_3_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK, PARTS=PARTS)
    return dk.to(k.dtype), dv.to(v.dtype)
""",
        title="parts overlap",
    )
)

wrong(
    "clinic_4",
    "only the load of do is masked to 0 for rows from S_q on: dV is right, but in the padded rows"
    " ds = p · (0 − delta of the last query) is not 0 and meets the last q, so dK is wrong (p "
    "must be 0 there).",
    "only dO is masked",
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
        do = tl.load(do_ptr + query_tile, mask=(rows < S_q)[:, None], other=0.0)  # 0 · anything adds nothing
        lse_i = tl.load(lse_ptr + safe)
        delta_i = tl.load(delta_ptr + safe)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
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
        title="only do is masked",
    )
)

wrong(
    "clinic_5",
    "p = tl.exp(tl.where(seen, s - m_new, 0.0)) gives hidden and padded keys the exponent 0, "
    "hence p = 1 in the sum l_i; the filler must be -inf (acc is masked afterwards and stays "
    "right).",
    "one edit",
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
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(tl.where(seen, s - m_new[:, None], 0.0))
        l_i = l_i * rescale + tl.sum(p, axis=1)
        p = tl.where(seen, p, 0.0)
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
        title="hidden score zero",
    )
)

wrong(
    "clinic_7",
    "ds = p * dp - delta_i[:, None] subtracts delta outside the product; it must be p * (dp - "
    "delta_i[:, None]).",
    "delta subtracted after the product",
)(
    written(
        """
from torch import Tensor


@triton.jit
def clinic_7_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):
    # a program owns a block of queries, and scans the keys
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * dp - delta_i[:, None]
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + query_tile, alpha * dq, mask=in_queries[:, None])


def clinic_7(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.empty_like(q)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_7_kernel[grid](q, k, v, do, lse, delta, dq, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq
""",
        title="parentheses lost",
    )
)

wrong(
    "clinic_8",
    "acc = tl.zeros(…, tl.bfloat16) has the range but only 8 bits of precision (and acc is cast "
    "to it in each round): no inf any more, yet O is off in the third digit, in fp32 too; it must"
    " be tl.float32.",
    "the accumulator is in bf16",
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
    acc = tl.zeros((BLOCK, D), tl.bfloat16)  # range of fp32: cannot overflow
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
        acc = (acc * rescale[:, None] + pv).to(acc.dtype)
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
        title="accumulator in bf16",
    )
)

wrong(
    "clinic_9",
    "acc * rescale without [:, None] broadcasts the row factors along the columns of acc, as "
    "NumPy would (BLOCK = D = 16 lets it pass, other D do not fit); it must be acc * rescale[:, "
    "None] + pv.",
    "crashed",
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
        acc = acc * rescale + pv
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
        title="rescale along the columns",
    )
)

wrong(
    "clinic_10",
    "the swap is undone where shapes are unpacked ((S_k, D), S_q = q.shape, k.shape[0]), so the "
    "kernel gets its numbers right but the grid is cdiv(number of queries, BLOCK): with more keys"
    " than queries the last blocks of dK and dV are never written.",
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
    (S_k, D), S_q, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_k, S_q, D=D, BLOCK=BLOCK)
    return dk, dv
""",
        title="names swapped at the unpacking",
    )
)

wrong(
    "tests_on_trial",
    "the layout trial does _replace(k=wide.k.T.T), which gives back the same view with the same "
    "strides, so no trial has k in another layout than q and the mutant that assumes q's strides "
    "survives (needs .T.contiguous().T).",
    "every tensor is contiguous",
)(
    written(
        '''
from torch import Tensor
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw


def tests_on_trial(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> list[Trial]:
    """Trials that kill twelve mutants and spare three right kernels."""
    first = Trial(q, k, v, do, alpha)
    wide = draw(20, 40, 24, alpha=0.4, causal=True)
    by_columns = wide._replace(k=wide.k.T.T)  # the same numbers, laid out by columns
    blind = draw(40, 20, causal=True)  # the first twenty queries see nothing
    sharp = first._replace(q=10 * q, k=10 * k)
    large = first._replace(do=1e6 * do)
    return [first, wide, by_columns, blind, sharp, large]
''',
        title="transposed twice",
    )
)

right("clinic_6", "each part in its own base")(
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
    tl.store(lse_ptr + rows, m_i * 0.6931471805599453 + tl.log(l_i), mask=in_queries)  # ln 2


def clinic_6(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_6_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
"""
    )
)
