"""Answers to the causal kernels of lesson 08, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "dkv_kernel_causal",
    "`lo = tl.cdiv(first, BLOCK_M) * BLOCK_M` rounds up: when pid*B - (S_k - S_q) is no multiple of the "
    "tile, the tile crossed by the diagonal is skipped. Right for S_q = S_k, wrong for S_q 40, S_k 70; "
    "it has to be rounded down.",
    "the first block that sees the keys is left out",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def causal_dkv(
    Q, K, V, DO, LSE, DELTA, DK, DV, scale, H, S_q, S_k, D,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3, a0, a1, a2, a3, c0, c1, c2, c3,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    n = pid.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    mask_n = (n[:, None] < S_k) & (d[None, :] < D)
    k = tl.load(K + b * k0 + h * k1 + n[:, None] * k2 + d[None, :] * k3, mask=mask_n, other=0.0)
    v = tl.load(V + b * v0 + h * v1 + n[:, None] * v2 + d[None, :] * v3, mask=mask_n, other=0.0)
    dk = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    first = tl.maximum(pid * BLOCK_N - (S_k - S_q), 0)
    lo = tl.cdiv(first, BLOCK_M) * BLOCK_M
    for start in range(lo, S_q, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M).to(tl.int64)
        mask_m = (m[:, None] < S_q) & (d[None, :] < D)
        q = tl.load(Q + b * q0 + h * q1 + m[:, None] * q2 + d[None, :] * q3, mask=mask_m, other=0.0)
        do = tl.load(DO + b * o0 + h * o1 + m[:, None] * o2 + d[None, :] * o3, mask=mask_m, other=0.0)
        lse = tl.load(LSE + bh * S_q + m, mask=m < S_q, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(DELTA + bh * S_q + m, mask=m < S_q, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(m[:, None] + (S_k - S_q) >= n[None, :], s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(
        DK + b * a0 + h * a1 + n[:, None] * a2 + d[None, :] * a3, (scale * dk).to(DK.dtype.element_ty),
        mask=mask_n
    )
    tl.store(
        DV + b * c0 + h * c1 + n[:, None] * c2 + d[None, :] * c3, dv.to(DV.dtype.element_ty), mask=mask_n
    )

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    causal_dkv[(triton.cdiv(S_k, T), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_M=T, BLOCK_N=T, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="loop start rounded up",
    )
)

wrong(
    "dkv_kernel_causal",
    "`other=float('inf')` covers padded queries, but a real query that sees nothing has LSE = -inf in "
    "memory: exp(-inf + inf) is NaN in p, and through the sum over queries in every key of the block. "
    "For S_q > S_k where the empty queries end inside a tile.",
    "no guard for queries that see nothing",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def p_and_ds(q, k, v, do, lse, delta, alpha, seen):
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
    p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
    dp = tl.dot(do, tl.trans(v), input_precision="ieee")
    return p, p * (dp - delta[:, None])

@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    columns = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    dmask = (d < D)[None, :]
    kmask = (columns < S_k)[:, None] & dmask
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=kmask, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=kmask, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    start = tl.maximum(0, tl.program_id(0) * BLOCK_K - shift) // BLOCK_Q * BLOCK_Q
    while start < S_q:
        rows = start + queries
        live = rows < S_q
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=live[:, None] & dmask, other=0.0)
        do = tl.load(
            do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=live[:, None] & dmask, other=0.0
        )
        lse = tl.load(lse_ptr + rows, mask=live, other=float("inf"))
        delta = tl.load(delta_ptr + rows, mask=live, other=0.0)
        seen = columns[None, :] <= rows[:, None] + shift
        p, ds = p_and_ds(q, k, v, do, lse, delta, alpha, seen)
        dv = tl.dot(tl.trans(p.to(do.dtype)), do, acc=dv, input_precision="ieee")
        dk = tl.dot(tl.trans(ds.to(q.dtype)), q, acc=dk, input_precision="ieee")
        start += BLOCK_Q
    dk = dk * alpha
    tl.store(
        dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=kmask
    )
    tl.store(
        dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=kmask
    )

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="guard for padded queries only",
    )
)

wrong(
    "dkv_kernel_causal",
    "`begin = pid * BLOCK_K // BLOCK_Q * BLOCK_Q` leaves out S_k - S_q: for more keys than queries the "
    "loop starts too late (or never), and queries that see the block are missed. And dk is stored "
    "without its factor alpha.",
    "alpha is missing from dK + loop start without S_k − S_q",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    base_q = q_ptr + b * q_batch + h * q_head
    base_do = do_ptr + b * do_batch + h * do_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    c = pid.to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    own = (c < S_k)[:, None] & (d < D)[None, :]
    kt = tl.load(k_ptr + b * k_batch + h * k_head + d[:, None] * k_col + c[None, :] * k_row,
                 mask=(d < D)[:, None] & (c < S_k)[None, :], other=0.0)
    vt = tl.load(v_ptr + b * v_batch + h * v_head + d[:, None] * v_col + c[None, :] * v_row,
                 mask=(d < D)[:, None] & (c < S_k)[None, :], other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    begin = pid * BLOCK_K // BLOCK_Q * BLOCK_Q
    for start in range(begin, S_q, BLOCK_Q):
        r = start + tl.arange(0, BLOCK_Q).to(tl.int64)
        rm = r < S_q
        q = tl.load(
            base_q + r[:, None] * q_row + d[None, :] * q_col, mask=rm[:, None] & (d < D)[None, :], other=0.0
        )
        do = tl.load(
            base_do + r[:, None] * do_row + d[None, :] * do_col,
            mask=rm[:, None] & (d < D)[None, :], other=0.0
        )
        lse = tl.load(lse_ptr + r, mask=rm, other=float("inf"))
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        delta = tl.load(delta_ptr + r, mask=rm, other=0.0)
        s = alpha * tl.dot(q, kt, input_precision="ieee")
        s = tl.where(c[None, :] - r[:, None] <= S_k - S_q, s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, vt, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + b * dk_batch + h * dk_head + c[:, None] * dk_row + d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + c[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=own)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="two mistakes: start without the shift, alpha missing in dK",
    )
)

wrong(
    "dkv_kernel_causal",
    "The mask compares the key with `off_m`, the query's number within its tile, instead of start + "
    "off_m: right for the first tile of queries only. And the stores of dk and dv mask rows alone, so "
    "for a D that is no power of two (24) the padded lanes are written over the next row.",
    "out_of_bounds",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    off_n = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    off_m = tl.arange(0, BLOCK_Q).to(tl.int64)
    off_d = tl.arange(0, BLOCK_D)
    k = tl.load(k_ptr + b * k_batch + h * k_head + off_n[:, None] * k_row + off_d[None, :] * k_col,
                mask=(off_n[:, None] < S_k) & (off_d[None, :] < D), other=0.0)
    v = tl.load(v_ptr + b * v_batch + h * v_head + off_n[:, None] * v_row + off_d[None, :] * v_col,
                mask=(off_n[:, None] < S_k) & (off_d[None, :] < D), other=0.0)
    q_base = q_ptr + b * q_batch + h * q_head
    do_base = do_ptr + b * do_batch + h * do_head
    stat = tl.program_id(1).to(tl.int64) * S_q
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    lo = tl.maximum(tl.program_id(0) * BLOCK_K + S_q - S_k, 0)
    lo = lo - lo % BLOCK_Q
    for start in range(lo, S_q, BLOCK_Q):
        m = start + off_m
        valid = m < S_q
        q = tl.load(
            q_base + m[:, None] * q_row + off_d[None, :] * q_col,
            mask=valid[:, None] & (off_d[None, :] < D), other=0.0
        )
        do = tl.load(
            do_base + m[:, None] * do_row + off_d[None, :] * do_col,
            mask=valid[:, None] & (off_d[None, :] < D), other=0.0
        )
        lse = tl.load(lse_ptr + stat + m, mask=valid, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(delta_ptr + stat + m, mask=valid, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        causal = off_m[:, None] + (S_k - S_q) >= off_n[None, :]
        s = tl.where(causal, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + b * dk_batch + h * dk_head + off_n[:, None] * dk_row + off_d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=off_n[:, None] < S_k)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + off_n[:, None] * dv_row + off_d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=off_n[:, None] < S_k)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    dkdv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="two mistakes: mask counts within the tile, and no d < D in the stores",
    )
)

right("dkv_kernel_causal", "starts exactly at the first query, last tile first")(
    written("""
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_from_below(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    cols = tl.program_id(0).to(tl.int64) * BK + tl.arange(0, BK)
    d = tl.arange(0, BD)
    own = (cols < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + cols[:, None] * k_row + d[None, :] * k_col, mask=own, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + cols[:, None] * v_row + d[None, :] * v_col, mask=own, other=0.0
    )
    dk = tl.zeros((BK, BD), tl.float32)
    dv = tl.zeros((BK, BD), tl.float32)
    shift = S_k - S_q
    first = tl.maximum(tl.program_id(0) * BK - shift, 0)  # tiles are counted from here, not from 0
    tiles = tl.cdiv(S_q - first, BQ)
    for t in range(0, tiles):
        rows = first + (tiles - 1 - t) * BQ + tl.arange(0, BQ).to(tl.int64)
        live = rows < S_q
        q = tl.load(
            q_ptr + rows[:, None] * q_row + d[None, :] * q_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        do = tl.load(
            do_ptr + rows[:, None] * do_row + d[None, :] * do_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        lse = tl.load(lse_ptr + rows, mask=live, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=live, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        counts = live[:, None] & (cols[None, :] <= rows[:, None] + shift)
        p = tl.where(counts, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = tl.where(counts, p * (dp - delta[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + b * dk_batch + h * dk_head + cols[:, None] * dk_row + d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + cols[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=own)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_from_below[(triton.cdiv(S_k, T), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BQ=T, BK=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""")
)
