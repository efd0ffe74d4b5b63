"""Right forward kernels, written as people write them: other names, other tiles, other orders."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import right


@triton.jit
def _fwd_tutorial_kernel(
    Q, K, V, sm_scale, L, Out,
    stride_qz, stride_qh, stride_qm, stride_qk, stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk, stride_oz, stride_oh, stride_om, stride_ok,
    H, N_Q, N_KV, HEAD_DIM, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    q_ptrs = (
        Q + off_z * stride_qz + off_h * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk
    )
    # K comes in transposed: [BLOCK_DMODEL, BLOCK_N]
    k_ptrs = (
        K + off_z * stride_kz + off_h * stride_kh + offs_d[:, None] * stride_kk + offs_n[None, :] * stride_kn
    )
    v_ptrs = (
        V + off_z * stride_vz + off_h * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk
    )
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], dtype=tl.float32)
    # exp2 is faster than exp: fold log2(e) into the scale
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_ptrs, mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM), other=0.0)
    for start_n in range(0, N_KV, BLOCK_N):
        n_left = N_KV - start_n
        k = tl.load(k_ptrs, mask=(offs_n[None, :] < n_left) & (offs_d[:, None] < HEAD_DIM), other=0.0)
        v = tl.load(v_ptrs, mask=(offs_n[:, None] < n_left) & (offs_d[None, :] < HEAD_DIM), other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk = tl.where(offs_n[None, :] < n_left, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        # -- update m_i and l_i
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        # -- update output accumulator --
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    # epilogue
    acc = acc / l_i[:, None]
    tl.store(L + off_hz * N_Q + offs_m, (m_i + tl.math.log2(l_i)) * 0.69314718, mask=offs_m < N_Q)
    o_ptrs = (
        Out
        + off_z * stride_oz
        + off_h * stride_oh
        + offs_m[:, None] * stride_om
        + offs_d[None, :] * stride_ok
    )
    tl.store(o_ptrs, acc.to(Out.type.element_ty), mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM))


@right(
    "flash_forward",
    "a tutorial's kernel: 64 × 32 tiles, K loaded transposed, pointers advanced, exp2 with a folded scale",
)
def fwd_tutorial(q, k, v, sm_scale):
    Z, H, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    L = torch.empty((Z, H, N_Q), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N_Q, 64), Z * H, 1)
    _fwd_tutorial_kernel[grid](
        q, k, v, sm_scale, L, o, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        H, N_Q, N_KV, HEAD_DIM, BLOCK_M=64, BLOCK_N=32, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return o, L


@triton.jit
def load_2d(base, row, col, n_rows, n_cols, s_row, s_col):
    inside = (row[:, None] < n_rows) & (col[None, :] < n_cols)
    return tl.load(base + row[:, None] * s_row + col[None, :] * s_col, mask=inside, other=0.0)


@triton.jit
def transposed_kernel(
    q, k, v, out, lse, scale, n_heads, Sq, Sk, D,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    # keys are the rows here: st[j, i] = k_j · q_i, and everything is reduced over axis 0
    pid, h, b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    qi = pid * BQ + tl.arange(0, BQ)
    dd = tl.arange(0, BD)
    qt = load_2d(q + b * qb + h * qh, qi, dd, Sq, D, qs, qd)
    running_max = tl.full([BQ], float("-inf"), tl.float32)
    denom = tl.zeros([BQ], tl.float32)
    numer = tl.zeros([BD, BQ], tl.float32)
    for j0 in range(0, Sk, BK):
        kj = j0 + tl.arange(0, BK)
        kt = load_2d(k + b * kb + h * kh, kj, dd, Sk, D, ks, kd)
        vt = load_2d(v + b * vb + h * vh, kj, dd, Sk, D, vs, vd)
        st = tl.dot(kt, tl.trans(qt), input_precision="ieee") * scale  # (BK, BQ)
        st = tl.where(kj[:, None] < Sk, st, float("-inf"))
        new_max = tl.maximum(running_max, tl.max(st, axis=0))
        correction = tl.exp(running_max - new_max)
        pt = tl.exp(st - new_max[None, :])
        denom = denom * correction + tl.sum(pt, axis=0)
        numer = numer * correction[None, :] + tl.dot(tl.trans(vt), pt.to(vt.dtype), input_precision="ieee")
        running_max = new_max
    result = tl.trans(numer / denom[None, :])
    row = (b * n_heads + h) * Sq + qi
    tl.store(out + row[:, None] * D + dd[None, :], result, mask=(qi[:, None] < Sq) & (dd[None, :] < D))
    tl.store(lse + row, running_max + tl.log(denom), mask=qi < Sq)


@right("flash_forward", "tiles transposed (K Qᵀ, reductions over axis 0), 16 × 64, a 3-D grid")
def keys_as_rows(q, k, v, alpha):
    B, H, Sq, D = q.shape
    out = q.new_empty(B, H, Sq, D)
    lse = q.new_empty(B, H, Sq, dtype=torch.float32)
    transposed_kernel[(triton.cdiv(Sq, 16), H, B)](
        q, k, v, out, lse, alpha, H, Sq, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        BQ=16, BK=64, BD=max(16, triton.next_power_of_2(D)),
    )
    return out, lse


@triton.jit
def two_pass_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, Nq, Nk, D, BLOCK: tl.constexpr, BD: tl.constexpr
):
    # first pass: the maximum; second pass: everything else. Nothing to rescale.
    head = tl.program_id(1)
    q_ptr += head * Nq * D
    k_ptr += head * Nk * D
    v_ptr += head * Nk * D
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BD)
    q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32) * alpha
    biggest = tl.full((BLOCK,), -1e30, tl.float32)
    for t in range(tl.cdiv(Nk, BLOCK)):
        j = t * BLOCK + tl.arange(0, BLOCK)
        k = load_2d(k_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        s = tl.where(j[None, :] < Nk, tl.dot(q, tl.trans(k), input_precision="ieee"), -1e30)
        biggest = tl.maximum(biggest, tl.max(s, 1))
    total = tl.zeros((BLOCK,), tl.float32)
    o = tl.zeros((BLOCK, BD), tl.float32)
    for t in range(tl.cdiv(Nk, BLOCK) - 1, -1, -1):  # and back again
        j = t * BLOCK + tl.arange(0, BLOCK)
        k = load_2d(k_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        v = load_2d(v_ptr, j, d, Nk, D, D, 1).to(tl.float32)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where(j[None, :] < Nk, tl.exp(s - biggest[:, None]), 0.0)
        total += tl.sum(p, 1)
        o += tl.dot(p, v, input_precision="ieee")
    ok = i < Nq
    o_ptr += head * Nq * D
    tl.store(o_ptr + i[:, None] * D + d[None, :], o / total[:, None], mask=ok[:, None] & (d < D)[None, :])
    tl.store(lse_ptr + head * Nq + i, biggest + tl.log(total), mask=ok)


@right(
    "flash_forward",
    "two passes, Q scaled beforehand, −1e30 as filler, contiguous copies, the second pass backwards",
)
def two_passes(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, Nq, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty(B, H, Nq)
    grid = (triton.cdiv(Nq, 32), B * H)
    BD = max(16, triton.next_power_of_2(D))
    two_pass_kernel[grid](q, k, v, o, lse, alpha, Nq, k.shape[2], D, BLOCK=32, BD=BD)
    return o, lse


@triton.jit
def block_pointer_kernel(
    Q, K, V, O, L, scale, M, N, D: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1)
    Qb = tl.make_block_ptr(Q + bh * M * D, (M, D), (D, 1), (tl.program_id(0) * BM, 0), (BM, BD), (1, 0))
    Kb = tl.make_block_ptr(K + bh * N * D, (D, N), (1, D), (0, 0), (BD, BN), (0, 1))
    Vb = tl.make_block_ptr(V + bh * N * D, (N, D), (D, 1), (0, 0), (BN, BD), (1, 0))
    Ob = tl.make_block_ptr(O + bh * M * D, (M, D), (D, 1), (tl.program_id(0) * BM, 0), (BM, BD), (1, 0))
    q = tl.load(Qb, boundary_check=(0, 1), padding_option="zero")
    m = tl.full([BM], float("-inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, BD], tl.float32)
    for n in range(0, N, BN):
        k = tl.load(Kb, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(Vb, boundary_check=(0, 1), padding_option="zero")
        s = tl.dot(q, k, input_precision="ieee") * scale
        s += tl.where(n + tl.arange(0, BN) < N, 0.0, float("-inf"))[None, :]
        m_new = tl.maximum(m, tl.max(s, 1))
        e = tl.exp(s - m_new[:, None])
        c = tl.exp(m - m_new)
        l = c * l + tl.sum(e, 1)
        acc = c[:, None] * acc + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        m = m_new
        Kb = tl.advance(Kb, (0, BN))
        Vb = tl.advance(Vb, (BN, 0))
    tl.store(Ob, (acc / l[:, None]).to(O.dtype.element_ty), boundary_check=(0, 1))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    tl.store(L + bh * M + rows, m + tl.log(l), mask=rows < M)


@right("flash_forward", "block pointers with boundary checks, 128 × 16 tiles")
def with_block_pointers(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, M, D = q.shape
    N = k.shape[-2]
    out, lse = torch.empty_like(q), torch.empty(B, H, M)
    block_pointer_kernel[(triton.cdiv(M, 128), B * H)](
        q, k, v, out, lse, alpha, M, N, D, BM=128, BN=16, BD=max(16, triton.next_power_of_2(D))
    )
    return out, lse
