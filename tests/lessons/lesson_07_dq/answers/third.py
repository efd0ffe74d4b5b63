"""Answers to lesson 07, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "dq_kernel",
    "`ds = alpha * p * (dp - delta)` and then `dq * alpha` in the store: alpha is in dQ twice. Visible "
    "for every alpha other than 1.",
    "alpha applied twice",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def _bwd_dq(
    Q, K, V, DO, LSE, DELTA, DQ, scale, H, N_Q, N_K, D,
    sqz, sqh, sqm, sqd, skz, skh, skn, skd, svz, svh, svn, svd,
    sdoz, sdoh, sdom, sdod, sdqz, sdqh, sdqm, sdqd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    mm = offs_m < N_Q
    md = offs_d < D
    q = tl.load(
        Q + z * sqz + h * sqh + offs_m[:, None] * sqm + offs_d[None, :] * sqd,
        mask=mm[:, None] & md[None, :], other=0.0
    )
    do = tl.load(
        DO + z * sdoz + h * sdoh + offs_m[:, None] * sdom + offs_d[None, :] * sdod,
        mask=mm[:, None] & md[None, :], other=0.0
    )
    lse = tl.load(LSE + hz * N_Q + offs_m, mask=mm, other=0.0)
    delta = tl.load(DELTA + hz * N_Q + offs_m, mask=mm, other=0.0)
    dq = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    kT_ptrs = K + z * skz + h * skh + offs_n[None, :] * skn + offs_d[:, None] * skd
    vT_ptrs = V + z * svz + h * svh + offs_n[None, :] * svn + offs_d[:, None] * svd
    for start in range(0, N_K, BLOCK_N):
        mn = start + offs_n < N_K
        kT = tl.load(kT_ptrs, mask=md[:, None] & mn[None, :], other=0.0)
        vT = tl.load(vT_ptrs, mask=md[:, None] & mn[None, :], other=0.0)
        s = scale * tl.dot(q, kT, input_precision="ieee")
        p = tl.exp(tl.where(mn[None, :], s, float("-inf")) - lse[:, None])
        dp = tl.dot(do, vT, input_precision="ieee")
        ds = scale * p * (dp - delta[:, None])
        dq += tl.dot(ds.to(kT.dtype), tl.trans(kT), input_precision="ieee")
        kT_ptrs += BLOCK_N * skn
        vT_ptrs += BLOCK_N * svn
    out = DQ + z * sdqz + h * sdqh + offs_m[:, None] * sdqm + offs_d[None, :] * sdqd
    tl.store(out, (dq * scale).to(DQ.dtype.element_ty), mask=mm[:, None] & md[None, :])

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLK = block or 32
    _bwd_dq[(triton.cdiv(S_q, BLK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_M=BLK, BLOCK_N=BLK, HEAD=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="alpha in ds and at the end",
    )
)

wrong(
    "dq_kernel",
    "`o_ptr + off_do`: O is read with the strides of dO. They differ as soon as dO is a view, an "
    "expanded one for instance (o.sum().backward() has strides 0) or a transposed projection; delta is "
    "wrong then.",
    "first divergence",
)(
    written(
        """
@triton.jit
def dq_with_delta(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_block = (rows < S_q)[:, None] & (d < D)[None, :]
    off_do = b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col
    do = tl.load(do_ptr + off_do, mask=in_block, other=0.0)
    o = tl.load(o_ptr + off_do, mask=in_block, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=in_block, other=0.0
    )
    lse = tl.load(lse_ptr + tl.program_id(1).to(tl.int64) * S_q + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    for start in range(0, S_k, BLOCK_K):
        j = start + tl.arange(0, BLOCK_K).to(tl.int64)
        in_tile = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < S_k)[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta[:, None])).to(k.dtype)
        dq = tl.dot(ds, k, acc=dq, input_precision="ieee")
    dq = dq * alpha
    tl.store(dq_ptr + b * dq_batch + h * dq_head + rows[:, None] * dq_row + d[None, :] * dq_col,
             dq.to(dq_ptr.dtype.element_ty), mask=in_block)

def dq_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_with_delta[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="delta in the kernel, O read with the strides of dO",
    )
)

wrong(
    "dq_kernel",
    "`grad = tl.zeros(..., k_ptr.dtype.element_ty)` and the `.to(grad.dtype)` in the loop: dQ is rounded "
    "to half precision after every tile. In fp16 and bf16 with many keys the error is far above one "
    "rounding; the sum has to grow in fp32.",
    "precision",
    "dQ accumulated in half precision",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_ok = (d < D)[None, :]
    r_ok = rows < S_q
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=r_ok[:, None] & d_ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=r_ok[:, None] & d_ok, other=0.0)
    L = tl.load(lse_ptr + rows, mask=r_ok, other=0.0)[:, None]
    Dlt = tl.load(delta_ptr + rows, mask=r_ok, other=0.0)[:, None]
    grad = tl.zeros((BLOCK_Q, BLOCK_D), k_ptr.dtype.element_ty)
    for t in range(tl.cdiv(S_k, BLOCK_K)):
        n = t * BLOCK_K + keys
        n_ok = n < S_k
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=n_ok[:, None] & d_ok, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=n_ok[:, None] & d_ok, other=0.0)
        s = tl.where(n_ok[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf"))
        p = tl.exp(s - L)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - Dlt)
        grad += tl.dot(ds.to(k.dtype), k, input_precision="ieee").to(grad.dtype)
    grad = grad.to(tl.float32) * alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, grad.to(dq_ptr.dtype.element_ty),
        mask=r_ok[:, None] & d_ok
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="dq grows in k's dtype",
    )
)

wrong(
    "dq_kernel",
    "`p = tl.exp(s - lse) * (n < S_k)`: the padded key's exponential is formed first. With LSE near -120 "
    "and a ragged S_k it is infinite, and inf * 0 is NaN. The mask belongs on s (-inf), or in a "
    "tl.where.",
    "padded keys get a probability",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    b, h = head // H, head % H
    first = tl.program_id(0) * BM
    q_blk = tl.make_block_ptr(
        q_ptr + b * q_batch + h * q_head, (S_q, D), (q_row, q_col), (first, 0), (BM, BD), (1, 0)
    )
    do_blk = tl.make_block_ptr(
        do_ptr + b * do_batch + h * do_head, (S_q, D), (do_row, do_col), (first, 0), (BM, BD), (1, 0)
    )
    dq_blk = tl.make_block_ptr(
        dq_ptr + b * dq_batch + h * dq_head, (S_q, D), (dq_row, dq_col), (first, 0), (BM, BD), (1, 0)
    )
    k_blk = tl.make_block_ptr(
        k_ptr + b * k_batch + h * k_head, (S_k, D), (k_row, k_col), (0, 0), (BN, BD), (1, 0)
    )
    v_blk = tl.make_block_ptr(
        v_ptr + b * v_batch + h * v_head, (S_k, D), (v_row, v_col), (0, 0), (BN, BD), (1, 0)
    )
    q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
    do = tl.load(do_blk, boundary_check=(0, 1), padding_option="zero")
    m = first + tl.arange(0, BM)
    lse = tl.load(lse_ptr + head * S_q + m, mask=m < S_q, other=0.0)[:, None]
    delta = tl.load(delta_ptr + head * S_q + m, mask=m < S_q, other=0.0)[:, None]
    dq = tl.zeros((BM, BD), tl.float32)
    for start in range(0, S_k, BN):
        k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
        n = start + tl.arange(0, BN)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse) * (n < S_k)[None, :].to(tl.float32)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta)
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        k_blk = tl.advance(k_blk, (BN, 0))
        v_blk = tl.advance(v_blk, (BN, 0))
    tl.store(dq_blk, (alpha * dq).to(dq_ptr.dtype.element_ty), boundary_check=(0, 1))

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    T = block or 32
    flash_dq_kernel[(triton.cdiv(S_q, T), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=T, BN=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="padding removed by multiplying p with a mask",
    )
)

wrong(
    "dq_kernel",
    "`p = e / tl.sum(e, 1)[:, None]` normalises within the tile and never uses LSE. Right only if all "
    "keys fit into one tile; for S_k > 32 each tile's P sums to 1.",
    "softmax of the tile",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def tile_softmax(s):
    e = tl.exp(s - tl.max(s, axis=1)[:, None])
    return e / tl.sum(e, axis=1)[:, None]

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    mask_q = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        mask_k = (columns[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(columns[None, :] < S_k, s, -float("inf"))
        p = tile_softmax(s)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=mask_q
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="softmax of each tile for itself",
    )
)

wrong(
    "dq_kernel",
    "`tl.exp2(s - lse_i)`: s carries log2(e), the LSE does not. It has to be multiplied by log2(e) as "
    "well; P is wrong wherever LSE is not 0.",
    "LSE read as base 2",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    row0 = tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    rm = rows < S_q
    qm = rm[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=qm, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=qm, other=0.0)
    lse_i = tl.load(lse_ptr + row0 + rows, mask=rm, other=float("inf"))
    di = tl.load(delta_ptr + row0 + rows, mask=rm, other=0.0)
    scale_log2 = alpha * 1.44269504
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    curr = 0
    while curr < S_k:
        n = curr + tl.arange(0, BLOCK_K).to(tl.int64)
        km = (n < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=km, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=km, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale_log2
        s = tl.where((n < S_k)[None, :], s, -float("inf"))
        p = tl.exp2(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - di[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
        curr += BLOCK_K
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, (dq * alpha).to(dq_ptr.dtype.element_ty),
        mask=qm
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="exp2 of a folded score, natural LSE",
    )
)

wrong(
    "dq_kernel",
    "`stat = hz * S_k`: LSE and delta have S_q numbers per head, so every head after the first is wrong "
    "for S_q != S_k. And the store uses q_row, q_col and q's batch and head strides for the fresh, "
    "contiguous dq: wrong (or out of bounds) whenever q is a view.",
    "out_of_bounds",
)(
    written(
        """
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_rows(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    b = hz // H
    h = hz % H
    stat = hz * S_k
    rows = tl.program_id(0).to(tl.int64) * BQ + tl.arange(0, BQ)
    d = tl.arange(0, BD)
    live = rows < S_q
    block = live[:, None] & (d < D)[None, :]
    q_off = b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_off, mask=block, other=0.0)
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col,
        mask=block, other=0.0
    )
    lse = tl.load(lse_ptr + stat + rows, mask=live, other=0.0)
    delta = tl.load(delta_ptr + stat + rows, mask=live, other=0.0)
    dq = tl.zeros((BQ, BD), tl.float32)
    for start in range(0, S_k, BK):
        n = start + tl.arange(0, BK).to(tl.int64)
        here = n < S_k
        tile = here[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col, mask=tile, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col, mask=tile, other=0.0
        )
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        p = tl.where(here[None, :], tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(dq_ptr + q_off, dq.to(dq_ptr.dtype.element_ty), mask=block)

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_rows[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BQ=BLOCK, BK=BLOCK, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
""",
        title="two mistakes: rows of LSE found with S_k, dQ stored with q's strides",
    )
)

right("dq_kernel", "helper for dS, pointers that move, tl.dot with acc")(
    written("""
from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def ds_of_tile(q, do, k, v, lse, delta, alpha, n_left, BLOCK_K: tl.constexpr):
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
    real = (tl.arange(0, BLOCK_K) < n_left)[None, :]
    p = tl.where(real, tl.exp(s - lse[:, None]), 0.0)
    return p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])

@triton.jit
def my_dq(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    stats = (b * tl.num_programs(1) + h) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    n = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    inside = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=inside, other=0.0
    )
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col,
        mask=inside, other=0.0
    )
    lse = tl.load(lse_ptr + stats + rows, mask=rows < S_q, other=float("inf"))
    delta = tl.load(delta_ptr + stats + rows, mask=rows < S_q, other=0.0)
    k_tile = k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col
    v_tile = v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        left = S_k - start
        load_mask = (n < left)[:, None] & (d < D)[None, :]
        k = tl.load(k_tile, mask=load_mask, other=0.0)
        v = tl.load(v_tile, mask=load_mask, other=0.0)
        ds = ds_of_tile(q, do, k, v, lse, delta, alpha, left, BLOCK_K)
        dq = tl.dot(ds.to(k.dtype), k, acc=dq, input_precision="ieee")
        k_tile += BLOCK_K * k_row
        v_tile += BLOCK_K * v_row
    tl.store(dq_ptr + b * dq_batch + h * dq_head + rows[:, None] * dq_row + d[None, :] * dq_col,
             (alpha * dq).to(dq_ptr.dtype.element_ty), mask=inside)

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    my_dq[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
""")
)
