"""Kernels that lesson 07's unseen answers share, written without a look at the mistakes that it declares."""

from __future__ import annotations

DQ_BY_THE_NOTEBOOK = """
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
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    Qb = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    dOb = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    L = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    Dl = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_k, BLOCK_K)):
        cols = t * BLOCK_K + keys
        theirs = (cols < S_k)[:, None] & (d < D)[None, :]
        Kb = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        Vb = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        S = alpha * tl.dot(Qb, tl.trans(Kb), input_precision="ieee")
        S = tl.where((cols < S_k)[None, :], S, -float("inf"))
        P = tl.exp(S - L)
        dP = tl.dot(dOb, tl.trans(Vb), input_precision="ieee")
        dS = P * (dP - Dl)
        grad = tl.dot(dS.to(Kb.dtype), Kb, grad, input_precision="ieee")
    grad = grad * alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, grad.to(dq_ptr.dtype.element_ty), mask=mine
    )


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dq_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return dq
"""

DQ_BASE_2 = """
RCP_LN2 = 1.4426950408889634  # = 1.0 / ln(2)


@triton.jit
def _attn_bwd_dq(
    Q, K, V, DO, M, Delta, DQ, sm_scale, qk_scale,
    stride_qz, stride_qh, stride_qm, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_om, stride_od,
    stride_gz, stride_gh, stride_gm, stride_gd,
    N_Q, N_KV, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M2: tl.constexpr, BLOCK_N2: tl.constexpr, BLOCK_DH: tl.constexpr,
):
    pid = tl.program_id(0)
    off_h = tl.program_id(1).to(tl.int64)
    off_z = tl.program_id(2).to(tl.int64)
    off_chz = (off_z * tl.num_programs(1) + off_h) * N_Q
    start_m = pid * BLOCK_M2
    offs_m = start_m + tl.arange(0, BLOCK_M2)
    offs_k = tl.arange(0, BLOCK_DH)
    m_mask = (offs_m[:, None] < N_Q) & (offs_k[None, :] < HEAD_DIM)
    Q += off_z * stride_qz + off_h * stride_qh
    q_ptrs = Q + offs_m[:, None] * stride_qm + offs_k[None, :] * stride_qd
    DO += off_z * stride_oz + off_h * stride_oh
    do_ptrs = DO + offs_m[:, None] * stride_om + offs_k[None, :] * stride_od
    q = tl.load(q_ptrs, mask=m_mask, other=0.0)
    do = tl.load(do_ptrs, mask=m_mask, other=0.0)
    m = tl.load(M + off_chz + offs_m, mask=offs_m < N_Q, other=float("inf"))
    m = m[:, None]
    Di = tl.load(Delta + off_chz + offs_m, mask=offs_m < N_Q, other=0.0)
    dq = tl.zeros([BLOCK_M2, BLOCK_DH], dtype=tl.float32)
    offs_n = tl.arange(0, BLOCK_N2)
    K += off_z * stride_kz + off_h * stride_kh
    kT_ptrs = K + offs_n[None, :] * stride_kn + offs_k[:, None] * stride_kd
    V += off_z * stride_vz + off_h * stride_vh
    vT_ptrs = V + offs_n[None, :] * stride_vn + offs_k[:, None] * stride_vd
    end_n = N_KV
    if CAUSAL:
        end_n = tl.minimum(N_KV, start_m + BLOCK_M2 + N_KV - N_Q)
    for curr_n in range(0, end_n, BLOCK_N2):
        cols = curr_n + offs_n
        n_mask = (cols[None, :] < N_KV) & (offs_k[:, None] < HEAD_DIM)
        kT = tl.load(kT_ptrs, mask=n_mask, other=0.0)
        vT = tl.load(vT_ptrs, mask=n_mask, other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee")
        p = tl.math.exp2(qk * qk_scale - m)
        # Masking.
        keep = cols[None, :] < N_KV
        if CAUSAL:
            keep = keep & (offs_m[:, None] + N_KV - N_Q >= cols[None, :])
        p = tl.where(keep, p, 0.0)
        # Compute dP and dS.
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        ds = ds.to(kT.dtype)
        # Compute dQ.
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
        # Increment pointers.
        kT_ptrs += BLOCK_N2 * stride_kn
        vT_ptrs += BLOCK_N2 * stride_vn
    dq *= sm_scale
    DQ += off_z * stride_gz + off_h * stride_gh
    dq_ptrs = DQ + offs_m[:, None] * stride_gm + offs_k[None, :] * stride_gd
    tl.store(dq_ptrs, dq.to(DQ.dtype.element_ty), mask=m_mask)


def _bwd(q, k, v, o, do, lse, sm_scale, causal):
    BATCH, N_HEAD, N_Q, HEAD_DIM = q.shape
    delta = (o.to(torch.float32) * do.to(torch.float32)).sum(dim=-1)
    M = lse.contiguous() * RCP_LN2
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    _attn_bwd_dq[(triton.cdiv(N_Q, 64), N_HEAD, BATCH)](
        q, k, v, do, M, delta, dq, sm_scale, sm_scale * RCP_LN2,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        N_Q, k.shape[2], HEAD_DIM,
        CAUSAL=causal, BLOCK_M2=64, BLOCK_N2=32, BLOCK_DH=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, True)
"""

DQ_BLOCK_POINTERS = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def dq_blocks(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dq_p, scale, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd,
    CAUSAL: tl.constexpr, TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    bi = tl.program_id(0).to(tl.int64)
    hi = tl.program_id(1).to(tl.int64)
    q_start = tl.program_id(2) * TQ
    q_blk = tl.make_block_ptr(q_p + bi * qb + hi * qh, (n_q, dim), (qs, qd), (q_start, 0), (TQ, TD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + bi * gb + hi * gh, (n_q, dim), (gs, gd), (q_start, 0), (TQ, TD), (1, 0))
    x_blk = tl.make_block_ptr(dq_p + bi * xb + hi * xh, (n_q, dim), (xs, xd), (q_start, 0), (TQ, TD), (1, 0))
    k_blk = tl.make_block_ptr(k_p + bi * kb + hi * kh, (n_k, dim), (ks, kd), (0, 0), (TK, TD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + bi * vb + hi * vh, (n_k, dim), (vs, vd), (0, 0), (TK, TD), (1, 0))
    q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
    g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
    i = q_start + tl.arange(0, TQ)
    head = (bi * tl.num_programs(1) + hi) * n_q
    lse_r = tl.load(lse_p + head + i, mask=i < n_q, other=0.0)
    lse_r = tl.where(lse_r == float("-inf"), float("inf"), lse_r)
    delta_r = tl.load(delta_p + head + i, mask=i < n_q, other=0.0)
    dq = tl.zeros((TQ, TD), tl.float32)
    last = n_k
    if CAUSAL:
        last = tl.minimum(n_k, q_start + TQ + n_k - n_q)
    for k_start in range(0, last, TK):
        j = k_start + tl.arange(0, TK)
        k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
        vis = (j < n_k)[None, :]
        if CAUSAL:
            vis = vis & (j[None, :] - i[:, None] <= n_k - n_q)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_r[:, None])
        p = tl.where(vis, p, 0.0)
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_r[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        k_blk = tl.advance(k_blk, (TK, 0))
        v_blk = tl.advance(v_blk, (TK, 0))
    tl.store(x_blk, (scale * dq).to(dq_p.dtype.element_ty), boundary_check=(0, 1))


def _launch(q, k, v, o, do, lse, alpha, causal):
    B, H, n_q, dim = q.shape
    dq = torch.empty((B, H, n_q, dim), dtype=q.dtype, device=q.device)
    dq_blocks[(B, H, triton.cdiv(n_q, 16))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, n_q, k.shape[2], dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        CAUSAL=causal, TQ=16, TK=32, TD=max(16, triton.next_power_of_2(dim)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, True)
"""
