"""Answers to lesson 08, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "dkv_kernel",
    "`q = (q * alpha)` right after the load puts alpha into S, but the scaled q is also the factor in "
    "dS^T q, so dk carries alpha already; `dk * alpha` at the end applies it twice. dV is right, dK "
    "wrong for every alpha other than 1.",
    "alpha applied twice to dK",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def _bwd_dkdv(
    Q, K, V, DO, L, Delta, DK, DV, sm_scale, H, N_Q, N_K, D,
    sqz, sqh, sqm, sqd, skz, skh, skn, skd, svz, svh, svn, svd,
    soz, soh, som, sod, sdkz, sdkh, sdkn, sdkd, sdvz, sdvh, sdvn, sdvd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    md = offs_d[None, :] < D
    mn = (offs_n[:, None] < N_K) & md
    k = tl.load(K + z * skz + h * skh + offs_n[:, None] * skn + offs_d[None, :] * skd, mask=mn, other=0.0)
    v = tl.load(V + z * svz + h * svh + offs_n[:, None] * svn + offs_d[None, :] * svd, mask=mn, other=0.0)
    dk = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    for start in range(0, N_Q, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M).to(tl.int64)
        mm = (offs_m[:, None] < N_Q) & md
        q = tl.load(Q + z * sqz + h * sqh + offs_m[:, None] * sqm + offs_d[None, :] * sqd, mask=mm, other=0.0)
        q = (q * sm_scale).to(Q.dtype.element_ty)
        do = tl.load(
            DO + z * soz + h * soh + offs_m[:, None] * som + offs_d[None, :] * sod, mask=mm, other=0.0
        )
        m = tl.load(L + hz * N_Q + offs_m, mask=offs_m < N_Q, other=float("inf"))
        Di = tl.load(Delta + hz * N_Q + offs_m, mask=offs_m < N_Q, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") - m[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - Di[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(
        DK + z * sdkz + h * sdkh + offs_n[:, None] * sdkn + offs_d[None, :] * sdkd,
        (dk * sm_scale).to(DK.dtype.element_ty), mask=mn
    )
    tl.store(
        DV + z * sdvz + h * sdvh + offs_n[:, None] * sdvn + offs_d[None, :] * sdvd,
        dv.to(DV.dtype.element_ty), mask=mn
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLK = block or 32
    _bwd_dkdv[(triton.cdiv(S_k, BLK), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_M=BLK, BLOCK_N=BLK, HEAD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="q scaled when loaded, and alpha once more at the end",
    )
)

wrong(
    "dkv_kernel",
    "`rows = tl.minimum(start + queries, S_q - 1)`: in a ragged last tile the padded lanes repeat the "
    "last query with its own LSE, so dV and dK get its share as often as there are padded lanes. Wrong "
    "for every S_q that is no multiple of the tile.",
    "padded queries repeat the last one",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
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
    dm = (d < D)[None, :]
    cm = (columns < S_k)[:, None] & dm
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=cm, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=cm, other=0.0)
    kT = tl.trans(k)
    vT = tl.trans(v)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        rows = tl.minimum(start + queries, S_q - 1)  # always in bounds, no row mask needed
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=dm, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=dm, other=0.0)
        lse = tl.load(lse_ptr + rows)
        delta = tl.load(delta_ptr + rows)
        s = alpha * tl.dot(q, kT, input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, vT, input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dv += tl.dot(tl.trans(p).to(do.dtype), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    dk *= alpha
    tl.store(
        dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=cm
    )
    tl.store(
        dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=cm
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="row index clamped",
    )
)

wrong(
    "dkv_kernel",
    "`while at < S_k`: the loop walks over queries and has to run to S_q. With more queries than keys "
    "the last queries are left out; S_q = S_k hides it.",
    "loop over S_k",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_scan(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    g = tl.program_id(1).to(tl.int64)
    b = g // H
    h = g % H
    j = tl.program_id(0).to(tl.int64) * TK + tl.arange(0, TK)
    e = tl.arange(0, TD)
    my = (j < S_k)[:, None] & (e < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + e[None, :] * k_col, mask=my, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + e[None, :] * v_col, mask=my, other=0.0
    )
    sum_k = tl.zeros((TK, TD), tl.float32)
    sum_v = tl.zeros((TK, TD), tl.float32)
    at = 0
    while at < S_k:
        i = at + tl.arange(0, TQ).to(tl.int64)
        alive = i < S_q
        tile = alive[:, None] & (e < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + e[None, :] * q_col, mask=tile, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + e[None, :] * do_col,
            mask=tile, other=0.0
        )
        lse = tl.load(lse_ptr + g * S_q + i, mask=alive, other=0.0)
        dlt = tl.load(delta_ptr + g * S_q + i, mask=alive, other=0.0)
        p = tl.exp(alpha * tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        p = tl.where(alive[:, None], p, 0.0)
        sum_v = tl.dot(tl.trans(p.to(do.dtype)), do, acc=sum_v, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - dlt[:, None])
        sum_k = tl.dot(tl.trans(ds.to(q.dtype)), q, acc=sum_k, input_precision="ieee")
        at += TQ
    tl.store(dk_ptr + b * dk_batch + h * dk_head + j[:, None] * dk_row + e[None, :] * dk_col,
             (alpha * sum_k).to(dk_ptr.dtype.element_ty), mask=my)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + j[:, None] * dv_row + e[None, :] * dv_col,
             sum_v.to(dv_ptr.dtype.element_ty), mask=my)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_scan[(triton.cdiv(S_k, T), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        TQ=T, TK=T, TD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="loop over S_k instead of S_q",
    )
)

wrong(
    "dkv_kernel",
    "The tiles are transposed (keys down, queries across), and LSE is rightly subtracted as `lse[None, "
    ":]`, but delta as `delta[:, None]`: delta of query i goes to key i of the tile. The tile is square, "
    "so nothing complains; dK is wrong, dV right.",
    "delta along the keys",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    n_mask = (n[:, None] < S_k) & (d[None, :] < D)
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col, mask=n_mask, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col, mask=n_mask, other=0.0
    )
    dk = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    for step in range(tl.cdiv(S_q, BLOCK)):
        m = step * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        m_mask = (m[:, None] < S_q) & (d[None, :] < D)
        q = tl.load(q_ptr + m[:, None] * q_row + d[None, :] * q_col, mask=m_mask, other=0.0)
        do = tl.load(do_ptr + m[:, None] * do_row + d[None, :] * do_col, mask=m_mask, other=0.0)
        lse = tl.load(lse_ptr + m, mask=m < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + m, mask=m < S_q, other=0.0)
        sT = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")  # keys x queries
        pT = tl.exp(sT - lse[None, :])
        dv += tl.dot(pT.to(do.dtype), do, input_precision="ieee")
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee")
        dsT = pT * (dpT - delta[:, None])
        dk += tl.dot(dsT.to(q.dtype), q, input_precision="ieee")
    dk = dk * alpha
    tl.store(
        dk_ptr + b * dk_batch + h * dk_head + n[:, None] * dk_row + d[None, :] * dk_col,
        dk.to(dk_ptr.dtype.element_ty), mask=n_mask
    )
    tl.store(
        dv_ptr + b * dv_batch + h * dv_head + n[:, None] * dv_row + d[None, :] * dv_col,
        dv.to(dv_ptr.dtype.element_ty), mask=n_mask
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    flash_dkv_kernel[(triton.cdiv(S_k, block or 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK=block or 32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="transposed tile, delta along the wrong axis",
    )
)

wrong(
    "dkv_kernel",
    "`p.to(tl.float16)` meets a `do` of another dtype in bf16 and fp32: it does not compile. And `ds = p "
    "* dp` leaves out delta, so dK is wrong in every dtype (dV is not).",
    "crashed + delta omitted",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    start_n = tl.program_id(0) * BLOCK_K
    kb = tl.make_block_ptr(
        k_ptr + b * k_batch + h * k_head, (S_k, D), (k_row, k_col), (start_n, 0), (BLOCK_K, BLOCK_D), (1, 0)
    )
    vb = tl.make_block_ptr(
        v_ptr + b * v_batch + h * v_head, (S_k, D), (v_row, v_col), (start_n, 0), (BLOCK_K, BLOCK_D), (1, 0)
    )
    qb = tl.make_block_ptr(
        q_ptr + b * q_batch + h * q_head, (S_q, D), (q_row, q_col), (0, 0), (BLOCK_Q, BLOCK_D), (1, 0)
    )
    ob = tl.make_block_ptr(
        do_ptr + b * do_batch + h * do_head, (S_q, D), (do_row, do_col), (0, 0), (BLOCK_Q, BLOCK_D), (1, 0)
    )
    k = tl.load(kb, boundary_check=(0, 1), padding_option="zero")
    v = tl.load(vb, boundary_check=(0, 1), padding_option="zero")
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start_m in range(0, S_q, BLOCK_Q):
        q = tl.load(qb, boundary_check=(0, 1), padding_option="zero")
        do = tl.load(ob, boundary_check=(0, 1), padding_option="zero")
        m = start_m + tl.arange(0, BLOCK_Q)
        lse = tl.load(lse_ptr + m, mask=m < S_q, other=float("inf"))
        qk = tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(qk * alpha - lse[:, None])
        dv += tl.dot(tl.trans(p.to(tl.float16)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * dp
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
        qb = tl.advance(qb, (BLOCK_Q, 0))
        ob = tl.advance(ob, (BLOCK_Q, 0))
    dkb = tl.make_block_ptr(
        dk_ptr + b * dk_batch + h * dk_head, (S_k, D), (dk_row, dk_col), (start_n, 0), (BLOCK_K, BLOCK_D),
        (1, 0)
    )
    dvb = tl.make_block_ptr(
        dv_ptr + b * dv_batch + h * dv_head, (S_k, D), (dv_row, dv_col), (start_n, 0), (BLOCK_K, BLOCK_D),
        (1, 0)
    )
    tl.store(dkb, (dk * alpha).to(dk_ptr.dtype.element_ty), boundary_check=(0, 1))
    tl.store(dvb, dv.to(dv_ptr.dtype.element_ty), boundary_check=(0, 1))

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    flash_dkv_kernel[(triton.cdiv(S_k, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="two mistakes: p cast to fp16, and delta never subtracted",
    )
)

wrong(
    "dkv_kernel",
    "The offsets `k_off` with the strides of k are used again to store dk, which is a fresh contiguous "
    "tensor. Wrong for a K that is a view: [B, S, H, D] in memory mixes the heads up, an expanded K "
    "writes every head to one place.",
    "stored with other strides",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def backward_keys(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    stat = (b * tl.num_programs(1) + h) * S_q
    col = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    keep = (col < S_k)[:, None] & (d < D)[None, :]
    k_off = b * k_batch + h * k_head + col[:, None] * k_row + d[None, :] * k_col
    v_off = b * v_batch + h * v_head + col[:, None] * v_row + d[None, :] * v_col
    dv_off = b * dv_batch + h * dv_head + col[:, None] * dv_row + d[None, :] * dv_col
    k = tl.load(k_ptr + k_off, mask=keep, other=0.0)
    v = tl.load(v_ptr + v_off, mask=keep, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        row = start + tl.arange(0, BLOCK_Q).to(tl.int64)
        rm = row < S_q
        keep_q = rm[:, None] & (d < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + row[:, None] * q_row + d[None, :] * q_col,
            mask=keep_q, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + row[:, None] * do_row + d[None, :] * do_col,
            mask=keep_q, other=0.0
        )
        lse = tl.load(lse_ptr + stat + row, mask=rm, other=float("inf"))
        delta = tl.load(delta_ptr + stat + row, mask=rm, other=0.0)
        p = tl.exp(alpha * tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + k_off, (dk * alpha).to(dk_ptr.dtype.element_ty), mask=keep)
    tl.store(dv_ptr + dv_off, dv.to(dv_ptr.dtype.element_ty), mask=keep)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or 32
    backward_keys[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""",
        title="dK stored where K lies",
    )
)

wrong(
    "dkv_kernel",
    "No kernel at all: torch builds the whole S x S matrix P, which is what the exercise is there to "
    "avoid. And in fp16 and bf16 scores, P and dS are rounded to half precision at every step, so for "
    "scores in the hundreds P is far off.",
    "not_yours",
    "nothing launched",
    "precision",
)(
    written(
        """
def dkv_kernel(
    q, k, v, o, do, lse, alpha, block = 0
):
    s = alpha * torch.matmul(q, k.transpose(-1, -2))
    p = torch.exp(s - lse.to(s.dtype).unsqueeze(-1))
    dv = torch.matmul(p.transpose(-1, -2), do)
    dp = torch.matmul(do, v.transpose(-1, -2))
    delta = (o * do).sum(dim=-1, keepdim=True)
    ds = p * (dp - delta)
    dk = alpha * torch.matmul(ds.transpose(-1, -2), q)
    return dk, dv
""",
        title="the formulas in torch, in the inputs' dtype",
    )
)

right("dkv_kernel", "keys down, queries across, LSE filled with 0")(
    written("""
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_transposed(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(0).to(tl.int64)
    b = bh // H
    h = bh % H
    j = tl.program_id(1).to(tl.int64) * BK + tl.arange(0, BK)
    d = tl.arange(0, BD)
    mine = (j < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0
    )
    dk = tl.zeros((BK, BD), tl.float32)
    dv = tl.zeros((BK, BD), tl.float32)
    start = 0
    while start < S_q:
        i = start + tl.arange(0, BQ).to(tl.int64)
        real = i < S_q
        tile = real[:, None] & (d < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=tile, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + d[None, :] * do_col,
            mask=tile, other=0.0
        )
        lse = tl.load(lse_ptr + bh * S_q + i, mask=real, other=0.0)
        delta = tl.load(delta_ptr + bh * S_q + i, mask=real, other=0.0)
        pt = tl.exp(alpha * tl.dot(k, tl.trans(q), input_precision="ieee") - lse[None, :])  # (BK, BQ)
        dv = tl.dot(pt.to(do.dtype), do, acc=dv, input_precision="ieee")
        dst = pt * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk = tl.dot(dst.to(q.dtype), q, acc=dk, input_precision="ieee")
        start += BQ
    tl.store(dk_ptr + b * dk_batch + h * dk_head + j[:, None] * dk_row + d[None, :] * dk_col,
             (alpha * dk).to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + j[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=mine)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_transposed[(B * H, triton.cdiv(S_k, T))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BQ=T, BK=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
""")
)
