"""More right forward kernels: persistent programs, split keys, descriptors, one program per head."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from tests.corpus import right


@triton.jit
def online_step(q, k, v, scale, keep, m, l, acc):
    s = tl.where(keep[None, :], tl.dot(q, tl.trans(k), input_precision="ieee") * scale, -float("inf"))
    m_next = tl.maximum(m, tl.max(s, axis=1))
    shrink = tl.exp(m - m_next)
    e = tl.exp(s - m_next[:, None])
    acc = tl.dot(e.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
    return m_next, l * shrink + tl.sum(e, axis=1), acc


@triton.jit
def persistent_kernel(
    Q, K, V, O, LSE, scale, H, M, N, D, tiles,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd,
    BLOCK: tl.constexpr, BD: tl.constexpr,
):
    per_head = tl.cdiv(M, BLOCK)
    d = tl.arange(0, BD)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        bh = tile // per_head
        b, h = bh // H, bh % H
        rows = (tile % per_head) * BLOCK + tl.arange(0, BLOCK)
        ok = (rows < M)[:, None] & (d < D)[None, :]
        q = tl.load(Q + b * sqb + h * sqh + rows[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
        m = tl.full((BLOCK,), -float("inf"), tl.float32)
        l = tl.zeros((BLOCK,), tl.float32)
        acc = tl.zeros((BLOCK, BD), tl.float32)
        for j0 in range(0, N, BLOCK):
            cols = j0 + tl.arange(0, BLOCK)
            inside = (cols < N)[:, None] & (d < D)[None, :]
            k = tl.load(
                K + b * skb + h * skh + cols[:, None] * skn + d[None, :] * skd, mask=inside, other=0.0
            )
            v = tl.load(
                V + b * svb + h * svh + cols[:, None] * svn + d[None, :] * svd, mask=inside, other=0.0
            )
            m, l, acc = online_step(q, k, v, scale, cols < N, m, l, acc)
        tl.store(O + (bh * M + rows)[:, None] * D + d[None, :], acc / l[:, None], mask=ok)
        tl.store(LSE + bh * M + rows, m + tl.log(l), mask=rows < M)


@right("flash_forward", "five persistent programs for all tiles of all heads, a helper for the online step")
def five_programs(q, k, v, alpha):
    B, H, M, D = q.shape
    o, lse = q.new_empty((B, H, M, D)), q.new_empty((B, H, M), dtype=torch.float32)
    persistent_kernel[(5,)](
        q, k, v, o, lse, alpha, H, M, k.size(2), D, B * H * triton.cdiv(M, 16),
        *q.stride(), *k.stride(), *v.stride(), BLOCK=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse


@triton.jit
def split_kernel(q_ptr, k_ptr, v_ptr, part_o, part_m, part_l, scale, M, N, per_split,
                 BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # flash decoding: each program scans a share of the keys and leaves (m, l, acc) behind
    mi, split, bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, d = mi * BM + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * M + rows)[:, None] * BD + d, mask=(rows < M)[:, None], other=0.0)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    stop = tl.minimum(N, (split + 1) * per_split)
    for j0 in range(split * per_split, stop, BN):
        cols = j0 + tl.arange(0, BN)
        ok = (cols < stop)[:, None]
        k = tl.load(k_ptr + (bh * N + cols)[:, None] * BD + d, mask=ok, other=0.0)
        v = tl.load(v_ptr + (bh * N + cols)[:, None] * BD + d, mask=ok, other=0.0)
        m, l, acc = online_step(q, k, v, scale, cols < stop, m, l, acc)
    at = (bh * tl.num_programs(1) + split) * M + rows
    tl.store(part_o + at[:, None] * BD + d, acc, mask=(rows < M)[:, None])
    tl.store(part_m + at, m, mask=rows < M)
    tl.store(part_l + at, l, mask=rows < M)


@triton.jit
def merge_kernel(part_o, part_m, part_l, o_ptr, lse_ptr, M, D, SPLITS: tl.constexpr, BD: tl.constexpr):
    i, bh = tl.program_id(0), tl.program_id(1)
    s, d = tl.arange(0, SPLITS), tl.arange(0, BD)
    at = (bh * SPLITS + s) * M + i
    m = tl.load(part_m + at)
    top = tl.max(m, 0)
    w = tl.exp(m - top)
    total = tl.sum(w * tl.load(part_l + at), 0)
    o = tl.sum(w[:, None] * tl.load(part_o + at[:, None] * BD + d), 0) / total
    tl.store(o_ptr + (bh * M + i) * D + d, o, mask=d < D)
    tl.store(lse_ptr + bh * M + i, top + tl.log(total))


@right("flash_forward", "keys split over two programs, merged by a second kernel; D padded by the launcher")
def flash_decoding(q, k, v, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    q, k, v = (F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v))
    part_o = torch.empty(B * H, 2, M, BD)
    part_m, part_l = torch.empty(B * H, 2, M), torch.empty(B * H, 2, M)
    o, lse = torch.empty(B, H, M, D, dtype=q.dtype), torch.empty(B, H, M)
    grid = (triton.cdiv(M, 32), 2, B * H)
    split_kernel[grid](q, k, v, part_o, part_m, part_l, alpha, M, N, triton.cdiv(N, 2), BM=32, BN=16, BD=BD)
    merge_kernel[(M, B * H)](part_o, part_m, part_l, o, lse, M, D, SPLITS=2, BD=BD)
    return o, lse


@triton.jit
def descriptor_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, BH, M, N,
                      BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    q_desc = tl.make_tensor_descriptor(q_ptr, [BH, M, BD], [M * BD, BD, 1], [1, BM, BD])
    k_desc = tl.make_tensor_descriptor(k_ptr, [BH, N, BD], [N * BD, BD, 1], [1, BN, BD])
    v_desc = tl.make_tensor_descriptor(v_ptr, [BH, N, BD], [N * BD, BD, 1], [1, BN, BD])
    o_desc = tl.make_tensor_descriptor(o_ptr, [BH, M, BD], [M * BD, BD, 1], [1, BM, BD])
    bh, first = tl.program_id(0), tl.program_id(1) * BM
    q = q_desc.load([bh, first, 0]).reshape(BM, BD)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in tl.range(0, N, BN):
        k = k_desc.load([bh, j0, 0]).reshape(BN, BD)
        v = v_desc.load([bh, j0, 0]).reshape(BN, BD)
        m, l, acc = online_step(q, k, v, scale, j0 + tl.arange(0, BN) < N, m, l, acc)
    o = (acc / l[:, None]).to(o_ptr.dtype.element_ty)
    o_desc.store([bh, first, 0], o.reshape(1, BM, BD))
    rows = first + tl.arange(0, BM)
    tl.store(lse_ptr + bh * M + rows, m + tl.log(l), mask=rows < M)


@right("flash_forward", "tensor descriptors over [heads, S, D], 32 × 64 tiles")
def with_descriptors(q, k, v, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    padded = [F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v)]
    o, lse = torch.empty_like(padded[0]), torch.empty(B, H, M)
    descriptor_kernel[(B * H, triton.cdiv(M, 32))](*padded, o, lse, alpha, B * H, M, N, BD=BD, BM=32, BN=64)
    return o[..., :D].contiguous(), lse


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 4), (64, 8))], key=["S"])
@triton.jit
def whole_head_kernel(x, y, z, out, logs, scale, T, S, D, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    # one program per head; lanes beyond the end are clamped to the last row and taken out by where
    head = tl.program_id(0)
    c = tl.arange(0, WIDTH)
    real = c < D
    for t in range(0, T, BLOCK):
        i = tl.minimum(t + tl.arange(0, BLOCK), T - 1)
        a = tl.load(x + (head * T + i)[:, None] * D + tl.minimum(c, D - 1)[None, :])
        a = tl.where(real[None, :], a, 0.0)
        top = tl.full([BLOCK], float("-inf"), tl.float32)
        low = tl.zeros([BLOCK], tl.float32)
        acc = tl.zeros([BLOCK, WIDTH], tl.float32)
        for s in range(0, S, BLOCK):
            j = s + tl.arange(0, BLOCK)
            at = (head * S + tl.minimum(j, S - 1))[:, None] * D + tl.minimum(c, D - 1)[None, :]
            kk = tl.where(real[None, :], tl.load(y + at), 0.0)
            vv = tl.load(z + at)  # the repeated columns are not stored
            w = tl.dot(a.to(tl.float32), tl.trans(kk.to(tl.float32)), input_precision="ieee") * scale
            w = tl.where((j < S)[None, :], w, float("-inf"))
            higher = tl.maximum(top, tl.max(w, 1))
            f = tl.exp(top - higher)
            w = tl.exp(w - higher[:, None])
            low = low * f + tl.sum(w, 1)
            acc = acc * f[:, None] + tl.dot(w, vv.to(tl.float32), input_precision="ieee")
            top = higher
        keep = (t + tl.arange(0, BLOCK) < T)[:, None] & real[None, :]
        tl.store(out + (head * T + i)[:, None] * D + c[None, :], acc / low[:, None], mask=keep)
        tl.store(logs + head * T + i, top + tl.log(low), mask=t + tl.arange(0, BLOCK) < T)


@right("flash_forward", "one program per head, autotuned; clamped rows and tl.where instead of masks")
def one_program_per_head(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, T, D = q.shape
    out, logs = torch.empty_like(q), torch.empty(B, H, T, dtype=torch.float32)
    whole_head_kernel[(B * H,)](
        q, k, v, out, logs, alpha, T, k.shape[2], D, WIDTH=max(16, triton.next_power_of_2(D))
    )
    return out, logs


@triton.jit
def no_dot_kernel(
    q, k, v, o, lse, a, H, M, N, D, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, W: tl.constexpr
):
    # one query per program, sums instead of dots
    i, bh = tl.program_id(0), tl.program_id(1)
    b, h, d = bh // H, bh % H, tl.arange(0, W)
    qi = tl.load(q + b * qb + h * qh + i * qm + d * qd, mask=d < D, other=0.0).to(tl.float32)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((W,), tl.float32)
    for j0 in range(0, N, 16):
        j = j0 + tl.arange(0, 16)
        ok = (j < N)[:, None] & (d < D)[None, :]
        kj = tl.load(k + b * kb + h * kh + j[:, None] * kn + d[None, :] * kd, mask=ok, other=0.0).to(
            tl.float32
        )
        vj = tl.load(v + b * vb + h * vh + j[:, None] * vn + d[None, :] * vd, mask=ok, other=0.0).to(
            tl.float32
        )
        s = tl.where(j < N, tl.sum(kj * qi[None, :], 1) * a, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 0))
        r = tl.exp(m - m_new)
        p = tl.exp(s - m_new)
        l = l * r + tl.sum(p, 0)
        acc = acc * r + tl.sum(p[:, None] * vj, 0)
        m = m_new
    tl.store(o + (bh * M + i) * D + d, acc / l, mask=d < D)
    tl.store(lse + bh * M + i, m + tl.log(l))


@right("flash_forward", "one query per program, tl.sum of products instead of tl.dot")
def one_query_at_a_time(q, k, v, alpha):
    B, H, M, D = q.shape
    o, lse = torch.empty((B, H, M, D), dtype=q.dtype), torch.empty(B, H, M)
    no_dot_kernel[(M, B * H)](
        q, k, v, o, lse, alpha, H, M, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        W=triton.next_power_of_2(D),
    )
    return o, lse
