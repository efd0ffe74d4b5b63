"""Right one-pass kernels in other people's styles: keys as rows, delta inside, fewer parts, integers."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import triton
import triton.language as tl

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.fused_backward import fused_backward_atomic
from tests.corpus import edited, right

LOG2E = tl.constexpr(1.4426950408889634)

right("fused_backward_atomic", "LSE filled with 0: P is 1 in padding, and meets zeros of Q and dO")(
    edited(
        fused_backward_atomic,
        ('tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))', "tl.load(lse_ptr + rows, mask=in_queries, other=0.0)"),
    )
)


@triton.jit
def _transposed_kernel(
    Q, K, V, DO, LSE, Delta, DQ, DK, DV, scale, H, N, M, D,
    BN: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    # one flat grid; Sᵀ with keys as rows, so that P and dS need no transpose for dV and dK, and one for dQ
    pid = tl.program_id(0)
    blocks = tl.cdiv(M, BM)
    head = (pid // blocks).to(tl.int64)
    keys = (pid % blocks) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    own = (keys < M)[:, None] & (d < D)[None, :]
    at_keys = head * M * D + keys[:, None] * D + d[None, :]
    k = tl.load(K + at_keys, mask=own, other=0.0)
    v = tl.load(V + at_keys, mask=own, other=0.0)
    gk = tl.zeros((BM, BD), tl.float32)
    gv = tl.zeros((BM, BD), tl.float32)
    start = 0
    if CAUSAL:
        start = max(0, (pid % blocks) * BM + N - M) // BN * BN
    while start < N:
        rows = start + tl.arange(0, BN)
        some = (rows < N)[:, None] & (d < D)[None, :]
        at_rows = head * N * D + rows[:, None] * D + d[None, :]
        q = tl.load(Q + at_rows, mask=some, other=0.0)
        do = tl.load(DO + at_rows, mask=some, other=0.0)
        lse = tl.load(LSE + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(Delta + head * N + rows, mask=rows < N, other=0.0)
        keep = (keys < M)[:, None] & (rows < N)[None, :] & (lse > -float("inf"))[None, :]
        if CAUSAL:
            keep &= keys[:, None] <= rows[None, :] + (M - N)
        st = tl.dot(k, tl.trans(q), input_precision="ieee") * (scale * LOG2E)
        pt = tl.where(keep, tl.exp2(st - (lse * LOG2E)[None, :]), 0.0)
        gv = tl.dot(pt.to(do.dtype), do, gv, input_precision="ieee")
        dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
        dst = (pt * (dpt - delta[None, :])).to(q.dtype)
        gk = tl.dot(dst, q, gk, input_precision="ieee")
        tl.atomic_add(DQ + at_rows, scale * tl.dot(tl.trans(dst), k, input_precision="ieee"), mask=some)
        start += BN
    tl.store(DK + at_keys, (gk * scale).to(DK.dtype.element_ty), mask=own)
    tl.store(DV + at_keys, gv.to(DV.dtype.element_ty), mask=own)


@right("fused_backward_atomic", "a flat grid, keys as rows, base 2, a while loop, contiguous copies")
def keys_as_rows(q, k, v, o, do, lse, alpha, causal):
    shape_q, shape_k = q.shape, k.shape
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, N, D = shape_q
    M = shape_k[2]
    dq = torch.zeros(shape_q, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _transposed_kernel[(triton.cdiv(M, 64) * B * H,)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, dk, dv, alpha, H, N, M, D,
        BN=32, BM=64, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    return dq.to(q.dtype), dk, dv


@triton.jit
def _delta_inside_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, H, N, M, D,
    sq, sk, sv, so, sdo,
    BLOCK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr,
):
    i, bh = tl.program_id(0), tl.program_id(1)
    b, h = bh // H, bh % H
    r = i * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BD)
    mine = (r[:, None] < N) & (d[None, :] < D)
    q = tl.load(q_ptr + b * sq[0] + h * sq[1] + r[:, None] * sq[2] + d[None, :] * sq[3], mask=mine, other=0.)
    o = tl.load(o_ptr + b * so[0] + h * so[1] + r[:, None] * so[2] + d[None, :] * so[3], mask=mine, other=0.)
    do = tl.load(do_ptr + b * sdo[0] + h * sdo[1] + r[:, None] * sdo[2] + d[None, :] * sdo[3], mask=mine, other=0.)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), 1)
    lse = tl.load(lse_ptr + bh * N + r, mask=r < N, other=0.)
    acc = tl.zeros((BLOCK, BD), tl.float32)
    for j in range(0, tl.cdiv(M, BLOCK)):
        c = j * BLOCK + tl.arange(0, BLOCK)
        ok = (r[:, None] < N) & (c[None, :] < M)
        visit = True
        if CAUSAL:
            ok = ok & (c[None, :] <= r[:, None] + M - N)
            visit = j * BLOCK < (i + 1) * BLOCK + M - N
        if visit:
            theirs = (c[:, None] < M) & (d[None, :] < D)
            k = tl.load(k_ptr + b * sk[0] + h * sk[1] + c[:, None] * sk[2] + d[None, :] * sk[3], mask=theirs, other=0.)
            v = tl.load(v_ptr + b * sv[0] + h * sv[1] + c[:, None] * sv[2] + d[None, :] * sv[3], mask=theirs, other=0.)
            s = tl.where(ok, tl.dot(q, k.T, input_precision="ieee") * alpha - lse[:, None], -1e30)
            p = tl.exp(s)
            ds = alpha * p * (tl.dot(do, v.T, input_precision="ieee") - delta[:, None])
            acc += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
            at = bh * M * D + c[:, None] * D + d[None, :]
            tl.atomic_add(dk_ptr + at, tl.dot(ds.T.to(q.dtype), q, input_precision="ieee"), mask=theirs)
            tl.atomic_add(dv_ptr + at, tl.dot(p.T.to(do.dtype), do, input_precision="ieee"), mask=theirs)
    tl.store(dq_ptr + bh * N * D + r[:, None] * D + d[None, :], acc, mask=mine)


@right("fused_backward_rows", "delta in the kernel, alpha in dS, strides as tuples, one buffer for both sums")
def delta_inside(q, k, v, o, do, lse, alpha, causal):
    B, H, N, D = q.shape
    M = k.shape[2]
    dq = torch.empty(B, H, N, D, dtype=q.dtype, device=q.device)
    sums = q.new_zeros((2, B, H, M, D), dtype=torch.float32)
    _delta_inside_kernel[triton.cdiv(N, 32), B * H](
        q, k, v, o, do, lse.contiguous(), dq, sums[0], sums[1], alpha, H, N, M, D,
        q.stride(), k.stride(), v.stride(), o.stride(), do.stride(),
        BLOCK=32, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal,
    )
    dk, dv = sums.to(k.dtype)
    return dq, dk, dv


@triton.jit
def _walking_kernel(
    Q, K, V, DO, LSE, Delta, Parts, DK, DV, scale, N, M, D,
    BLOCK: tl.constexpr, BD: tl.constexpr, CAUSAL: tl.constexpr, FIXED: tl.constexpr,
):
    # a program owns every num_programs-th block of keys, and a part of memory that nobody else touches
    head = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, BD)
    part = Parts + head * N * D
    if not FIXED:
        part += tl.program_id(0).to(tl.int64) * tl.num_programs(1) * N * D
    for block in range(tl.program_id(0), tl.cdiv(M, BLOCK), tl.num_programs(0)):
        keys = block * BLOCK + tl.arange(0, BLOCK)
        own = (keys < M)[:, None] & (d < D)[None, :]
        at_keys = head * M * D + keys[:, None] * D + d[None, :]
        k = tl.load(K + at_keys, mask=own, other=0.0)
        v = tl.load(V + at_keys, mask=own, other=0.0)
        gk = tl.zeros((BLOCK, BD), tl.float32)
        gv = tl.zeros((BLOCK, BD), tl.float32)
        first = 0
        if CAUSAL:
            first = tl.maximum(block * BLOCK - (M - N), 0) // BLOCK
        for step in range(first, tl.cdiv(N, BLOCK)):
            rows = step * BLOCK + tl.arange(0, BLOCK)
            some = (rows < N)[:, None] & (d < D)[None, :]
            offsets = rows[:, None] * D + d[None, :]
            q = tl.load(Q + head * N * D + offsets, mask=some, other=0.0)
            do = tl.load(DO + head * N * D + offsets, mask=some, other=0.0)
            lse = tl.load(LSE + head * N + rows, mask=rows < N, other=0.0)
            delta = tl.load(Delta + head * N + rows, mask=rows < N, other=0.0)
            s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
            keep = (keys < M)[None, :] & (lse != -float("inf"))[:, None]
            if CAUSAL:
                keep &= keys[None, :] <= rows[:, None] + (M - N)
            p = tl.exp(tl.where(keep, s - lse[:, None], -float("inf")))
            gv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
            ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
            gk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
            share = scale * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
            if FIXED:
                tl.atomic_add(part + offsets, (share * 1099511627776.0).to(tl.int64), mask=some)
            else:
                so_far = tl.load(part + offsets, mask=some, other=0.0)
                tl.store(part + offsets, so_far + share, mask=some)
        tl.store(DK + at_keys, (scale * gk).to(DK.dtype.element_ty), mask=own)
        tl.store(DV + at_keys, gv.to(DV.dtype.element_ty), mask=own)


def _walk(q, k, v, o, do, lse, alpha, causal, parts, programs, fixed):
    delta = delta_preprocess(o, do)
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, N, D = q.shape
    M = k.shape[2]
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _walking_kernel[(programs, B * H)](
        q, k, v, do, lse.contiguous(), delta, parts, dk, dv, alpha, N, M, D,
        BLOCK=32, BD=max(16, triton.next_power_of_2(D)), CAUSAL=causal, FIXED=fixed,
    )
    return dk, dv


@right("determinism", "two programs per head, each with a part of its own, added by torch")
def two_parts(q, k, v, o, do, lse, alpha, causal):
    parts = torch.zeros((2, *q.shape), dtype=torch.float32, device=q.device)
    dk, dv = _walk(q, k, v, o, do, lse, alpha, causal, parts, 2, False)
    return (parts[0] + parts[1]).to(q.dtype), dk, dv


@right("determinism", "integers of 64 bits, whose sum does not depend on the order")
def fixed_point(q, k, v, o, do, lse, alpha, causal):
    total = torch.zeros(q.shape, dtype=torch.int64, device=q.device)
    dk, dv = _walk(q, k, v, o, do, lse, alpha, causal, total, triton.cdiv(k.shape[2], 32), True)
    return (total.double() * 2.0**-40).to(q.dtype), dk, dv
