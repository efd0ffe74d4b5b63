"""Right dQ kernels in other people's styles, without and with a causal mask."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from tests.corpus import right

RLN2 = tl.constexpr(1.4426950408889634)


@triton.jit
def _preprocess(O, DO, Delta, s_oz, s_oh, s_om, s_od, s_dz, s_dh, s_dm, s_dd, H, M, D,
                BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    hz = tl.program_id(1)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_D)
    ok = (m[:, None] < M) & (n[None, :] < D)
    o = tl.load(O + (hz // H) * s_oz + (hz % H) * s_oh + m[:, None] * s_om + n[None, :] * s_od, mask=ok, other=0.0)
    do = tl.load(DO + (hz // H) * s_dz + (hz % H) * s_dh + m[:, None] * s_dm + n[None, :] * s_dd, mask=ok, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    tl.store(Delta + hz * M + m, delta, mask=m < M)


@triton.jit
def _dq_tutorial_kernel(
    Q, K, V, sm_scale, DO, DQ, LSE, Delta,
    s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd, s_dz, s_dh, s_dm, s_dd,
    H, M, N, D, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
):
    hz = tl.program_id(1)
    z, h = hz // H, hz % H
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    DO += z * s_dz + h * s_dh
    start_m = tl.program_id(0) * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    qmask = (offs_m[:, None] < M) & (offs_d[None, :] < D)
    q = tl.load(Q + offs_m[:, None] * s_qm + offs_d[None, :] * s_qd, mask=qmask, other=0.0)
    do = tl.load(DO + offs_m[:, None] * s_dm + offs_d[None, :] * s_dd, mask=qmask, other=0.0)
    # statistics in base 2
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0) * RLN2
    Di = tl.load(Delta + hz * M + offs_m, mask=offs_m < M, other=0.0)
    if CAUSAL:
        m = tl.where(m == float("-inf"), 0.0, m)
    kT_ptrs = K + offs_n[None, :] * s_kn + offs_d[:, None] * s_kd
    vT_ptrs = V + offs_n[None, :] * s_vn + offs_d[:, None] * s_vd
    dq = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    hi = N
    if CAUSAL:
        hi = tl.minimum(N, start_m + BLOCK_M + (N - M))
    for start_n in range(0, hi, BLOCK_N):
        curr_n = start_n + offs_n
        kmask = (curr_n[None, :] < N) & (offs_d[:, None] < D)
        kT = tl.load(kT_ptrs, mask=kmask, other=0.0)
        vT = tl.load(vT_ptrs, mask=kmask, other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee") * (sm_scale * RLN2)
        p = tl.math.exp2(qk - m[:, None])
        p = tl.where(curr_n[None, :] < N, p, 0.0)
        # Autoregressive masking.
        if CAUSAL:
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
            p = tl.where(mask, p, 0.0)
        # Compute dP and dS.
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        ds = ds.to(kT.dtype)
        # NOTE: the scale comes in the epilogue
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
        # Increment pointers.
        kT_ptrs += BLOCK_N * s_kn
        vT_ptrs += BLOCK_N * s_vn
    dq *= sm_scale
    tl.store(DQ + (hz * M + offs_m)[:, None] * D + offs_d[None, :], dq.to(DQ.dtype.element_ty), mask=qmask)


def _launch_dq(q, k, v, o, do, lse, sm_scale, causal, BLOCK_M=32, BLOCK_N=16):
    Z, H, M, D = q.shape
    N = k.shape[2]
    BLOCK_D = max(16, triton.next_power_of_2(D))
    lse = lse.contiguous()
    delta = torch.empty_like(lse)
    dq = torch.empty((Z, H, M, D), dtype=q.dtype, device=q.device)
    grid = (triton.cdiv(M, BLOCK_M), Z * H)
    _preprocess[grid](o, do, delta, *o.stride(), *do.stride(), H, M, D, BLOCK_M=BLOCK_M, BLOCK_D=BLOCK_D)
    _dq_tutorial_kernel[grid](
        q, k, v, sm_scale, do, dq, lse, delta, *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        H, M, N, D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D, CAUSAL=causal,
    )
    return dq


@right("dq_kernel", "a tutorial's kernel: K and V loaded transposed, a preprocess kernel, base 2 inside, P set to 0 where there is no key")
def dq_tutorial(q, k, v, o, do, lse, alpha):
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=False)


@right("dq_kernel_causal", "the tutorial's kernel with the mask shifted by N − M; base 2")
def dq_tutorial_causal(q, k, v, o, do, lse, alpha):
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M=16, BLOCK_N=64)


@triton.jit
def delta_inside_kernel(q, k, v, o, g, lse, dq, a, Sq, Sk, D, B: tl.constexpr, BD: tl.constexpr, causal: tl.constexpr):
    # g is dO. Pre-scaled q, everything widened to fp32, delta from O and g in the kernel, keys backwards.
    bh = tl.program_id(1)
    i, d = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, BD)
    ok = (i < Sq)[:, None] & (d < D)[None, :]
    at = (bh * Sq + i)[:, None] * D + d[None, :]
    qi = tl.load(q + at, mask=ok, other=0.0).to(tl.float32) * a
    gi = tl.load(g + at, mask=ok, other=0.0).to(tl.float32)
    delta = tl.sum(gi * tl.load(o + at, mask=ok, other=0.0).to(tl.float32), 1)
    L = tl.load(lse + bh * Sq + i, mask=i < Sq, other=float("inf"))
    L = tl.where(L == float("-inf"), float("inf"), L)
    grad = tl.zeros((B, BD), tl.float32)
    tiles = tl.cdiv(Sk, B)
    for back in range(tiles):
        j = (tiles - 1 - back) * B + tl.arange(0, B)
        if not causal or (tiles - 1 - back) * B < (tl.program_id(0) + 1) * B + Sk - Sq:
            kv = (bh * Sk + j)[:, None] * D + d[None, :]
            ok_j = (j < Sk)[:, None] & (d < D)[None, :]
            kj = tl.load(k + kv, mask=ok_j, other=0.0).to(tl.float32)
            vj = tl.load(v + kv, mask=ok_j, other=0.0).to(tl.float32)
            s = tl.dot(qi, tl.trans(kj), input_precision="ieee")
            see = (j < Sk)[None, :]
            if causal:
                see = see & (j[None, :] <= i[:, None] + Sk - Sq)
            p = tl.exp(tl.where(see, s, float("-inf")) - L[:, None])
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
    tl.store(dq + at, grad * a, mask=ok)


@right("dq_kernel", "delta inside the kernel, fp32 throughout, tiles of 64 from the last to the first, dS = P dP − P delta")
def dq_delta_inside(q, k, v, o, do, lse, alpha):
    q, k, v, o, do = (t.contiguous() for t in (q, k, v, o, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    BD = max(16, triton.next_power_of_2(D))
    grid = (triton.cdiv(Sq, 64), B * H)
    delta_inside_kernel[grid](q, k, v, o, do, lse, dq, alpha, Sq, k.shape[2], D, B=64, BD=BD, causal=False)
    return dq


@right("dq_kernel_causal", "delta inside the kernel, an if in the loop instead of an end, backwards")
def dq_causal_with_an_if(q, k, v, o, do, lse, alpha):
    q, k, v, o, do = (t.contiguous() for t in (q, k, v, o, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    BD = max(16, triton.next_power_of_2(D))
    grid = (triton.cdiv(Sq, 32), B * H)
    delta_inside_kernel[grid](q, k, v, o, do, lse, dq, alpha, Sq, k.shape[2], D, B=32, BD=BD, causal=True)
    return dq


@triton.jit
def dq_atomic_kernel(Q, K, V, DO, LSE, DELTA, DQ, scale, M, N, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # a program per (tile of keys, tile of queries): each adds its product to dQ; P transposed, keys as rows
    n0, m0, bh = tl.program_id(0) * BN, tl.program_id(1) * BM, tl.program_id(2)
    j, i, d = n0 + tl.arange(0, BN), m0 + tl.arange(0, BM), tl.arange(0, BD)
    kt = tl.load(K + (bh * N + j)[:, None] * BD + d[None, :], mask=(j < N)[:, None], other=0.0)
    vt = tl.load(V + (bh * N + j)[:, None] * BD + d[None, :], mask=(j < N)[:, None], other=0.0)
    qt = tl.load(Q + (bh * M + i)[None, :] * BD + d[:, None], mask=(i < M)[None, :], other=0.0)  # (BD, BM)
    dot = tl.load(DO + (bh * M + i)[None, :] * BD + d[:, None], mask=(i < M)[None, :], other=0.0)
    lse = tl.load(LSE + bh * M + i, mask=i < M, other=0.0)
    delta = tl.load(DELTA + bh * M + i, mask=i < M, other=0.0)
    pT = tl.exp(tl.dot(kt, qt, input_precision="ieee") * scale - lse[None, :])
    pT = tl.where((j < N)[:, None] & (i < M)[None, :], pT, 0.0)
    dsT = pT * (tl.dot(vt, dot, input_precision="ieee") - delta[None, :])
    dqT = tl.dot(tl.trans(kt), dsT.to(kt.dtype), input_precision="ieee") * scale
    tl.atomic_add(DQ + (bh * M + i)[None, :] * BD + d[:, None], dqT, mask=(i < M)[None, :])


@right("dq_kernel", "one program per pair of tiles, dQ added atomically in fp32, all tiles transposed, 32 × 16")
def dq_by_atomics(q, k, v, o, do, lse, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    delta = (o.float() * do.float()).sum(-1)
    q_, k_, v_, do_ = (F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v, do))
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(N, 16), triton.cdiv(M, 32), B * H)
    dq_atomic_kernel[grid](q_, k_, v_, do_, lse.contiguous(), delta, dq, alpha, M, N, BM=32, BN=16, BD=BD)
    return dq[..., :D].to(q.dtype)


@triton.jit
def recompute_lse_kernel(q, k, v, g, dq, a, Sq, Sk, B: tl.constexpr, D: tl.constexpr, W: tl.constexpr):
    # trusts neither lse nor o: a first scan finds LSE and delta, a second one dQ
    bh, i, d = tl.program_id(0), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, W)
    ok = (i < Sq)[:, None] & (d < D)[None, :]
    qi = tl.load(q + (bh * Sq + i)[:, None] * D + d[None, :], mask=ok, other=0.0)
    gi = tl.load(g + (bh * Sq + i)[:, None] * D + d[None, :], mask=ok, other=0.0)
    m = tl.full((B,), -float("inf"), tl.float32)
    l = tl.zeros((B,), tl.float32)
    pd = tl.zeros((B,), tl.float32)
    for j0 in range(0, Sk, B):
        j = j0 + tl.arange(0, B)
        kv = (bh * Sk + j)[:, None] * D + d[None, :]
        there = (j < Sk)[:, None] & (d < D)[None, :]
        s = a * tl.dot(qi, tl.trans(tl.load(k + kv, mask=there, other=0.0)), input_precision="ieee")
        s = tl.where((j < Sk)[None, :], s, -float("inf"))
        dp = tl.dot(gi, tl.trans(tl.load(v + kv, mask=there, other=0.0)), input_precision="ieee")
        m_new = tl.maximum(m, tl.max(s, 1))
        e = tl.exp(s - m_new[:, None])
        f = tl.exp(m - m_new)
        l = l * f + tl.sum(e, 1)
        pd = pd * f + tl.sum(e * dp, 1)
        m = m_new
    out = tl.zeros((B, W), tl.float32)
    for j0 in range(0, Sk, B):
        j = j0 + tl.arange(0, B)
        kv = (bh * Sk + j)[:, None] * D + d[None, :]
        there = (j < Sk)[:, None] & (d < D)[None, :]
        kj = tl.load(k + kv, mask=there, other=0.0)
        s = a * tl.dot(qi, tl.trans(kj), input_precision="ieee")
        s = tl.where((j < Sk)[None, :], s, -float("inf"))
        p = tl.exp(s - m[:, None]) / l[:, None]
        dp = tl.dot(gi, tl.trans(tl.load(v + kv, mask=there, other=0.0)), input_precision="ieee")
        ds = a * p * (dp - (pd / l)[:, None])
        out += tl.dot(ds, kj.to(tl.float32), input_precision="ieee")
    tl.store(dq + (bh * Sq + i)[:, None] * D + d[None, :], out, mask=ok)


@right("dq_kernel", "recomputes LSE and delta = Σ P dP itself, uses neither lse nor o; alpha in dS")
def dq_from_scratch(q, k, v, o, do, lse, alpha):
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    W = max(16, triton.next_power_of_2(D))
    recompute_lse_kernel[(B * H, triton.cdiv(Sq, 32))](q, k, v, do, dq, alpha, Sq, k.shape[2], B=32, D=D, W=W)
    return dq
