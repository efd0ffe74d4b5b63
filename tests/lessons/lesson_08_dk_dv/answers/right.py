"""Right dK and dV kernels in other people's styles, without and with a causal mask."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from tests.corpus import right

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _dkdv_tutorial_kernel(
    Q, K, V, sm_scale, DO, DK, DV, M_, D_,
    s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd, s_dz, s_dh, s_dm, s_dd,
    H, N_Q, N_KV, HEAD_DIM,
    BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_DMODEL: tl.constexpr, CAUSAL: tl.constexpr,
):
    bhid = tl.program_id(1)
    z, h = bhid // H, bhid % H
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    DO += z * s_dz + h * s_dh
    M_ += bhid * N_Q
    D_ += bhid * N_Q
    offs_k = tl.arange(0, BLOCK_DMODEL)
    start_n = tl.program_id(0) * BLOCK_N1
    offs_n = start_n + tl.arange(0, BLOCK_N1)
    nmask = (offs_n[:, None] < N_KV) & (offs_k[None, :] < HEAD_DIM)
    # load K and V: they stay in SRAM throughout the inner loop.
    k = tl.load(K + offs_n[:, None] * s_kn + offs_k[None, :] * s_kd, mask=nmask, other=0.0)
    v = tl.load(V + offs_n[:, None] * s_vn + offs_k[None, :] * s_vd, mask=nmask, other=0.0)
    dv = tl.zeros([BLOCK_N1, BLOCK_DMODEL], dtype=tl.float32)
    dk = tl.zeros([BLOCK_N1, BLOCK_DMODEL], dtype=tl.float32)
    start_m = 0
    if CAUSAL:
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
    num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)
    curr_m = start_m
    for _ in range(num_steps):
        offs_m = curr_m + tl.arange(0, BLOCK_M1)
        mmask = offs_m < N_Q
        qT = tl.load(Q + offs_m[None, :] * s_qm + offs_k[:, None] * s_qd,
                     mask=mmask[None, :] & (offs_k[:, None] < HEAD_DIM), other=0.0)
        # Load m before computing qk to reduce pipeline stall.
        m = tl.load(M_ + offs_m, mask=mmask, other=0.0)
        qkT = tl.dot(k, qT, input_precision="ieee")
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
        keep = mmask[None, :] & (offs_n[:, None] < N_KV)
        # Autoregressive masking.
        if CAUSAL:
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
        pT = tl.where(keep, pT, 0.0)
        do = tl.load(DO + offs_m[:, None] * s_dm + offs_k[None, :] * s_dd,
                     mask=mmask[:, None] & (offs_k[None, :] < HEAD_DIM), other=0.0)
        # Compute dV.
        ppT = pT
        ppT = ppT.to(do.dtype)
        dv += tl.dot(ppT, do, input_precision="ieee")
        # D (= delta) is pre-divided by nothing.
        Di = tl.load(D_ + offs_m, mask=mmask, other=0.0)
        # Compute dP and dS.
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee").to(tl.float32)
        dsT = pT * (dpT - Di[None, :])
        dsT = dsT.to(qT.dtype)
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
        # Increment pointers.
        curr_m += BLOCK_M1
    tl.store(DV + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dv.to(DV.dtype.element_ty), mask=nmask)
    # Write back dK.
    dk *= sm_scale
    tl.store(DK + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dk.to(DK.dtype.element_ty), mask=nmask)


def _launch_dkdv(q, k, v, o, do, lse, sm_scale, causal, BLOCK_M1=16, BLOCK_N1=32):
    Z, H, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    delta = (o.float() * do.float()).sum(dim=-1).contiguous()
    dk = torch.empty((Z, H, N_KV, HEAD_DIM), dtype=k.dtype, device=k.device)
    dv = torch.empty((Z, H, N_KV, HEAD_DIM), dtype=v.dtype, device=v.device)
    grid = (triton.cdiv(N_KV, BLOCK_N1), Z * H)
    _dkdv_tutorial_kernel[grid](
        q, k, v, sm_scale, do, dk, dv, lse.contiguous(), delta,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), H, N_Q, N_KV, HEAD_DIM,
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)), CAUSAL=causal,
    )
    return dk, dv


@right("dkv_kernel", "a tutorial's kernel: everything transposed (pT, dsT), base 2, P set to 0 outside, 16 × 32 tiles")
def dkdv_tutorial(q, k, v, o, do, lse, alpha):
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=False)


@right("dkv_kernel_causal", "the tutorial's kernel, mask and loop start shifted by N_KV − N_Q; base 2")
def dkdv_tutorial_causal(q, k, v, o, do, lse, alpha):
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M1=32, BLOCK_N1=16)


@triton.jit
def probabilities(q, k, lse, alpha, see):
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
    return tl.where(see, tl.exp(s - lse[:, None]), 0.0)


@triton.jit
def reversed_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    # contiguous inputs; queries from the last tile to the first; delta from O and dO of the tile
    j0, head = tl.program_id(0) * BK, tl.program_id(1)
    j, d = j0 + tl.arange(0, BK), tl.arange(0, BD)
    at_j = (head * S_k + j)[:, None] * D + d[None, :]
    ok_j = (j < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + at_j, mask=ok_j, other=0.0)
    v = tl.load(v_ptr + at_j, mask=ok_j, other=0.0)
    dk, dv = tl.zeros((BK, BD), tl.float32), tl.zeros((BK, BD), tl.float32)
    first = 0
    if CAUSAL:
        first = tl.maximum(0, j0 - (S_k - S_q))
    i0 = (S_q - 1) // BQ * BQ
    while i0 + BQ > first and i0 >= 0:
        i = i0 + tl.arange(0, BQ)
        at_i = (head * S_q + i)[:, None] * D + d[None, :]
        ok_i = (i < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + at_i, mask=ok_i, other=0.0)
        do = tl.load(do_ptr + at_i, mask=ok_i, other=0.0)
        o = tl.load(o_ptr + at_i, mask=ok_i, other=0.0)
        delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
        lse = tl.load(lse_ptr + head * S_q + i, mask=i < S_q, other=0.0)
        see = (i < S_q)[:, None] & (j < S_k)[None, :]
        if CAUSAL:
            see = see & (i[:, None] >= j[None, :] - (S_k - S_q))
        p = probabilities(q, k, lse, alpha, see)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha
        dv = tl.dot(tl.trans(p).to(do.dtype), do, dv, input_precision="ieee")
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
        i0 -= BQ
    tl.store(dk_ptr + at_j, dk, mask=ok_j)
    tl.store(dv_ptr + at_j, dv, mask=ok_j)


def _launch_reversed(q, k, v, o, do, lse, alpha, causal, BQ=64, BK=16):
    q, k, v, o, do, lse = (t.contiguous() for t in (q, k, v, o, do, lse))
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    reversed_kernel[(triton.cdiv(S_k, BK), B * H)](
        q, k, v, o, do, lse, dk, dv, alpha, S_q, S_k, D,
        BQ=BQ, BK=BK, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    return dk, dv


@right("dkv_kernel", "queries from the last to the first, delta in the loop, alpha in dS, 64 × 16, a helper for P")
def dkv_backwards(q, k, v, o, do, lse, alpha):
    return _launch_reversed(q, k, v, o, do, lse, alpha, causal=False)


@right("dkv_kernel_causal", "queries from the last to the first hidden one in a while loop, no guard but tl.where after exp")
def dkv_causal_backwards(q, k, v, o, do, lse, alpha):
    return _launch_reversed(q, k, v, o, do, lse, alpha, causal=True, BQ=32, BK=64)


@triton.jit
def pair_kernel(Q, K, V, G, L, Dl, DK, DV, a, M, N, BM: tl.constexpr, BN: tl.constexpr, W: tl.constexpr, CAUSAL: tl.constexpr):
    # a program per pair of tiles; what it finds is added atomically
    bh, i0, j0 = tl.program_id(2), tl.program_id(0) * BM, tl.program_id(1) * BN
    if not CAUSAL or j0 <= i0 + BM - 1 + N - M:
        i, j, c = i0 + tl.arange(0, BM), j0 + tl.arange(0, BN), tl.arange(0, W)
        ok = (i < M)[:, None]
        q = tl.load(Q + (bh * M + i)[:, None] * W + c[None, :], mask=ok, other=0.0)
        g = tl.load(G + (bh * M + i)[:, None] * W + c[None, :], mask=ok, other=0.0)
        k = tl.load(K + (bh * N + j)[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
        s = tl.dot(q * a, tl.trans(k), input_precision="ieee")
        lse = tl.load(L + bh * M + i, mask=i < M, other=float("inf"))
        see = (i < M)[:, None] & (j < N)[None, :]
        if CAUSAL:
            see = see & (j[None, :] - i[:, None] <= N - M)
        s = tl.where(see, s - lse[:, None], -1.0e30)
        p = tl.exp(s)
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - tl.load(Dl + bh * M + i, mask=i < M, other=0.0)[:, None])
        out = (bh * N + j)[:, None] * W + c[None, :]
        tl.atomic_add(DV + out, tl.dot(tl.trans(p), g, input_precision="ieee"), mask=(j < N)[:, None])
        tl.atomic_add(DK + out, a * tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])


def _launch_pairs(q, k, v, o, do, lse, alpha, causal, BM=16, BN=16):
    B, H, M, D = q.shape
    N, W = k.shape[2], max(16, triton.next_power_of_2(D))
    delta = torch.sum(o.float() * do.float(), -1)
    wide = [F.pad(t.float(), (0, W - D)).contiguous() for t in (q, k, v, do)]
    dk, dv = torch.zeros(B, H, N, W), torch.zeros(B, H, N, W)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), B * H)
    pair_kernel[grid](*wide, lse.contiguous(), delta, dk, dv, alpha, M, N, BM=BM, BN=BN, W=W, CAUSAL=causal)
    return dk[..., :D].to(k.dtype), dv[..., :D].to(v.dtype)


@right("dkv_kernel", "one program per pair of tiles, atomics into zeros in fp32, inputs padded and widened by the launcher")
def dkv_pairs(q, k, v, o, do, lse, alpha):
    return _launch_pairs(q, k, v, o, do, lse, alpha, causal=False, BM=64, BN=32)


@right("dkv_kernel_causal", "one program per pair of tiles that sees anything, atomics, −1e30 for s − lse")
def dkv_causal_pairs(q, k, v, o, do, lse, alpha):
    return _launch_pairs(q, k, v, o, do, lse, alpha, causal=True, BM=32, BN=32)
