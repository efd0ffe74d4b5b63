"""Right causal forward kernels: loops split at the diagonal, finite fillers with guards, reversed scans."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import right


@triton.jit
def _inner(acc, l_i, m_i, q, K, V, lo, hi, scale, offs_m, offs_d, shift, N, D, s_kn, s_kd, s_vn, s_vd,
           BLOCK_N: tl.constexpr, ON_DIAGONAL: tl.constexpr):
    for start_n in range(lo, hi, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(K + cols[None, :] * s_kn + offs_d[:, None] * s_kd,
                    mask=(cols[None, :] < N) & (offs_d[:, None] < D), other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * scale
        if ON_DIAGONAL:
            qk = tl.where((offs_m[:, None] + shift >= cols[None, :]) & (cols[None, :] < N), qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.exp2(qk - m_safe[:, None])
        alpha = tl.exp2(m_i - m_safe)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + cols[:, None] * s_vn + offs_d[None, :] * s_vd,
                    mask=(cols[:, None] < N) & (offs_d[None, :] < D), other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def _fwd_causal_kernel(
    Q, K, V, O, LSE, scale, H, M, N, D, s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    start_m, hz = tl.program_id(0), tl.program_id(1)
    z, h = hz // H, hz % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    in_q = (offs_m[:, None] < M) & (offs_d[None, :] < D)
    q = tl.load(Q + offs_m[:, None] * s_qm + offs_d[None, :] * s_qd, mask=in_q, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    shift = N - M
    # keys below `whole` are seen by every row of this block, keys from `end` on by none
    end = tl.maximum(0, tl.minimum(N, (start_m + 1) * BLOCK_M + shift))
    whole = tl.maximum(0, tl.minimum(N, start_m * BLOCK_M + shift + 1)) // BLOCK_N * BLOCK_N
    scale2 = scale * 1.4426950408889634
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, 0, whole, scale2, offs_m, offs_d, shift, N, D,
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, False)
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, whole, end, scale2, offs_m, offs_d, shift, N, D,
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, True)
    nothing = l_i == 0.0
    acc = acc / tl.where(nothing, 1.0, l_i)[:, None]
    lse = tl.where(nothing, float("-inf"), (m_i + tl.log2(l_i)) / 1.4426950408889634)
    tl.store(O + (hz * M + offs_m)[:, None] * D + offs_d[None, :], acc, mask=in_q)
    tl.store(LSE + hz * M + offs_m, lse, mask=offs_m < M)


@right("flash_forward_causal", "the loop split into tiles without a mask and tiles on the diagonal, by a helper; exp2")
def split_loops(q, k, v, sm_scale):
    Z, H, M, D = q.shape
    o = torch.empty((Z, H, M, D), dtype=q.dtype)
    lse = torch.empty((Z, H, M), dtype=torch.float32)
    _fwd_causal_kernel[(triton.cdiv(M, 32), Z * H)](
        q, k, v, o, lse, sm_scale, H, M, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        BLOCK_M=32, BLOCK_N=16, BLOCK_D=max(triton.next_power_of_2(D), 16),
    )
    return o, lse


@triton.jit
def finite_filler_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D, B: tl.constexpr, BD: tl.constexpr):
    NEG: tl.constexpr = -1.0e30
    qb, bh = tl.program_id(0), tl.program_id(1)
    i = qb * B + tl.arange(0, B)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * S_q + i)[:, None] * D + d, mask=(i < S_q)[:, None] & (d < D), other=0.0)
    q = q.to(tl.float32) * alpha
    m = tl.full((B,), NEG, tl.float32)
    den = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, BD), tl.float32)
    last = tl.minimum(S_k, (qb + 1) * B + S_k - S_q) - 1  # last key that anybody here sees
    j0 = last // B * B
    while j0 >= 0:  # from the diagonal back to the first key
        j = j0 + tl.arange(0, B)
        kv = (j < S_k)[:, None] & (d < D)
        k = tl.load(k_ptr + (bh * S_k + j)[:, None] * D + d, mask=kv, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + (bh * S_k + j)[:, None] * D + d, mask=kv, other=0.0).to(tl.float32)
        see = (j[None, :] - i[:, None] <= S_k - S_q) & (j < S_k)[None, :]
        s = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), NEG)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)  # without the where: 1 in rows that see nothing
        c = tl.exp(m - m_new)
        den = den * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p, v, input_precision="ieee")
        m = m_new
        j0 -= B
    blind = den == 0.0
    o = tl.where(blind[:, None], 0.0, acc / tl.where(blind, 1.0, den)[:, None])
    tl.store(o_ptr + (bh * S_q + i)[:, None] * D + d, o, mask=(i < S_q)[:, None] & (d < D))
    lse = tl.where(blind, -float("inf"), m + tl.log(tl.where(blind, 1.0, den)))
    tl.store(lse_ptr + bh * S_q + i, lse, mask=i < S_q)


@right("flash_forward_causal", "−1e30 as filler, guarded by p = where(see, …, 0); from the diagonal backwards in a while loop")
def from_the_diagonal_back(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, S_q, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, S_q)
    grid = (triton.cdiv(S_q, 64), B * H)
    BD = max(16, triton.next_power_of_2(D))
    finite_filler_kernel[grid](q, k, v, o, lse, alpha, S_q, k.shape[2], D, B=64, BD=BD)
    return o, lse


@triton.jit
def early_exit_kernel(
    Q, K, V, O, LSE, alpha, H, Tq, Tk, D, qb, qh, qt, qd, kb, kh, kt, kd, vb, vh, vt, vd, ob, oh, ot, od,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    h, b = tl.program_id(0), tl.program_id(1)
    pid = tl.num_programs(2) - 1 - tl.program_id(2)  # the longest rows first
    rows, d = pid * BQ + tl.arange(0, BQ), tl.arange(0, BD)
    row_ok, d_ok = rows < Tq, d < D
    o_at = O + b * ob + h * oh + rows[:, None] * ot + d[None, :] * od
    lse_at = LSE + (b * H + h) * Tq + rows
    limit = rows + (Tk - Tq)
    end = tl.max(tl.where(row_ok, limit, -1), axis=0) + 1
    if end <= 0:  # nobody in this block sees anything
        tl.store(o_at, tl.zeros((BQ, BD), tl.float32), mask=row_ok[:, None] & d_ok[None, :])
        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)
        return
    q = tl.load(Q + b * qb + h * qh + rows[:, None] * qt + d[None, :] * qd, mask=row_ok[:, None] & d_ok[None, :], other=0.0)
    m = tl.full((BQ,), float("-inf"), tl.float32)
    z = tl.zeros((BQ,), tl.float32)
    y = tl.zeros((BQ, BD), tl.float32)
    for t in range(tl.cdiv(end, BK)):
        c = t * BK + tl.arange(0, BK)
        ok = (c < Tk)[:, None] & d_ok[None, :]
        k = tl.load(K + b * kb + h * kh + c[:, None] * kt + d[None, :] * kd, mask=ok, other=0.0)
        v = tl.load(V + b * vb + h * vh + c[:, None] * vt + d[None, :] * vd, mask=ok, other=0.0)
        s = tl.where(c[None, :] <= limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
        s = tl.where((c < Tk)[None, :], s, float("-inf"))
        m2 = tl.maximum(m, tl.max(s, 1))
        base = tl.where(m2 > float("-inf"), m2, 0.0)
        p = tl.exp(s - base[:, None])
        f = tl.exp(m - base)
        z = z * f + tl.sum(p, 1)
        y = y * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m2
    tl.store(o_at, tl.where(z[:, None] > 0, y / z[:, None], 0.0), mask=row_ok[:, None] & d_ok[None, :])
    tl.store(lse_at, m + tl.log(z), mask=row_ok)


@right("flash_forward_causal", "an early return where a block sees nothing, heads first in a 3-D grid, 16 × 32, 0/0 under tl.where")
def early_return(q, k, v, alpha):
    B, H, Tq, D = q.shape
    o, lse = torch.empty(B, H, Tq, D, dtype=q.dtype), torch.empty(B, H, Tq)
    early_exit_kernel[(H, B, triton.cdiv(Tq, 16))](
        q, k, v, o, lse, alpha, H, Tq, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BQ=16, BK=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse


@triton.jit
def two_pass_causal_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, a, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # the logsumexp first, then P = exp(S − LSE) as the backward pass has it: nothing to divide by
    bh = tl.program_id(1)
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * M + r)[:, None] * D + d, mask=(r < M)[:, None] & (d < D), other=0.0)
    end = tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M)
    lse = tl.full((BM,), -float("inf"), tl.float32)
    for j in range(0, end, BN):
        c = j + tl.arange(0, BN)
        k = tl.load(k_ptr + (bh * N + c)[:, None] * D + d, mask=(c < N)[:, None] & (d < D), other=0.0)
        s = a * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((c[None, :] <= r[:, None] + N - M) & (c < N)[None, :], s, -float("inf"))
        top = tl.maximum(lse, tl.max(s, 1))
        top = tl.where(top == -float("inf"), 0.0, top)
        lse = top + tl.log(tl.exp(lse - top) + tl.sum(tl.exp(s - top[:, None]), 1))
    finite = tl.where(lse == -float("inf"), 0.0, lse)
    o = tl.zeros((BM, BD), tl.float32)
    for j in range(0, end, BN):
        c = j + tl.arange(0, BN)
        ok = (c < N)[:, None] & (d < D)
        k = tl.load(k_ptr + (bh * N + c)[:, None] * D + d, mask=ok, other=0.0)
        v = tl.load(v_ptr + (bh * N + c)[:, None] * D + d, mask=ok, other=0.0)
        s = a * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (c[None, :] <= r[:, None] + N - M) & (c < N)[None, :]
        p = tl.exp(tl.where(seen, s - finite[:, None], -float("inf")))
        o += tl.dot(p.to(v.dtype), v, input_precision="ieee")
    tl.store(o_ptr + (bh * M + r)[:, None] * D + d, o, mask=(r < M)[:, None] & (d < D))
    tl.store(lse_ptr + bh * M + r, lse, mask=r < M)


@right("flash_forward_causal", "the logsumexp in a first pass, P = exp(S − LSE) in a second")
def lse_first(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (triton.cdiv(M, 32), B * H)
    BD = max(16, triton.next_power_of_2(D))
    two_pass_causal_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=32, BD=BD)
    return o, lse
