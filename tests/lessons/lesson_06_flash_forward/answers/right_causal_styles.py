"""Right causal kernels that multiply much and visit nothing hidden: padded D, two passes, two blocks at once."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100
# fmt: off

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right
from tests.lessons.lesson_06_flash_forward.answers.right_causal import split_loops

right("flash_forward_causal", "split loops, D padded to 64 at least")(
    edited(split_loops, ("max(triton.next_power_of_2(D), 16)", "max(triton.next_power_of_2(D), 64)"))
)


@triton.jit
def two_pass_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # first pass: the maximum and the sum of each row; second pass: S again, and P V
    bh = tl.program_id(1)
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[:, None] & (d < D)[None, :]
    q = tl.load(Q + (bh * M + i)[:, None] * D + d[None, :], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    end = tl.maximum(0, tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M))
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        k = tl.load(K + (bh * N + j)[None, :] * D + d[:, None], mask=(j < N)[None, :] & (d < D)[:, None], other=0.0)
        s = alpha * tl.dot(q, k, input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        at = tl.where(new == float("-inf"), 0.0, new)
        total = total * tl.exp(top - at) + tl.sum(tl.exp(s - at[:, None]), 1)
        top = new
    lse = top + tl.log(total)
    at = tl.where(lse == float("-inf"), 0.0, lse)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[None, :] * D + d[:, None], mask=(j < N)[None, :] & (d < D)[:, None], other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        s = alpha * tl.dot(q, k, input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        acc += tl.dot(tl.exp(s - at[:, None]).to(v.dtype), v, input_precision="ieee")
    tl.store(O + (bh * M + i)[:, None] * D + d[None, :], acc, mask=in_q)
    tl.store(L + bh * M + i, lse, mask=i < M)


@right("flash_forward_causal", "two passes over the keys, 32 × 16, D padded to 32 at least")
def two_passes(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (triton.cdiv(M, 32), B * H)
    two_pass_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=16, BD=max(32, triton.next_power_of_2(D)))
    return o, lse


@triton.jit
def keys_first_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # transposed throughout: S is (keys, queries), acc is (D, queries)
    bh = tl.program_id(1)
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[None, :] & (d < D)[:, None]
    qT = tl.load(Q + (bh * M + i)[None, :] * D + d[:, None], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    accT = tl.zeros((BD, BM), tl.float32)
    end = tl.maximum(0, tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M))
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        sT = alpha * tl.dot(k, qT, input_precision="ieee")
        sT = tl.where((j < N)[:, None] & (j[:, None] <= i[None, :] + N - M), sT, float("-inf"))
        new = tl.maximum(top, tl.max(sT, 0))
        at = tl.where(new == float("-inf"), 0.0, new)
        shrink = tl.exp(top - at)
        pT = tl.exp(sT - at[None, :])
        total = total * shrink + tl.sum(pT, 0)
        accT = accT * shrink[None, :] + tl.dot(tl.trans(v), pT.to(v.dtype), input_precision="ieee")
        top = new
    accT = accT / tl.where(total == 0.0, 1.0, total)[None, :]
    tl.store(O + (bh * M + i)[None, :] * D + d[:, None], accT, mask=in_q)
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)


@right("flash_forward_causal", "every tile transposed: keys are rows, queries columns; 16 × 64, D padded to 64 at least")
def keys_first(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (triton.cdiv(M, 16), B * H)
    keys_first_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=16, BN=64, BD=max(64, triton.next_power_of_2(D)))
    return o, lse


@triton.jit
def one_block(block, bh, Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    i, d = block * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[:, None] & (d < D)[None, :]
    q = tl.load(Q + (bh * M + i)[:, None] * D + d[None, :], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in range(0, tl.maximum(0, tl.minimum(N, (block + 1) * BM + N - M)), BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        at = tl.where(new == float("-inf"), 0.0, new)
        shrink, p = tl.exp(top - at), tl.exp(s - at[:, None])
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new
    tl.store(O + (bh * M + i)[:, None] * D + d[None, :], acc / tl.where(total == 0.0, 1.0, total)[:, None], mask=in_q)
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)


@triton.jit
def paired_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # a short block and a long one: every program has the same work
    first = tl.program_id(0)
    last = tl.cdiv(M, BM) - 1 - first
    one_block(first, tl.program_id(1), Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)
    if last > first:
        one_block(last, tl.program_id(1), Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)


@right("flash_forward_causal", "one program for two blocks, the first and the last, the second and the last but one, …; D padded to 32")
def two_blocks_each(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (triton.cdiv(triton.cdiv(M, 32), 2), B * H)
    paired_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=32, BD=max(32, triton.next_power_of_2(D)))
    return o, lse


@triton.jit
def persistent_kernel(Q, K, V, O, L, alpha, M, N, D, heads, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    blocks = tl.cdiv(M, BM)
    for item in range(tl.program_id(0), blocks * heads, tl.num_programs(0)):
        one_block(item % blocks, item // blocks, Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)


@right("flash_forward_causal", "three programs that take blocks in turns, 64 × 16, D padded to 64 at least")
def persistent(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    persistent_kernel[(3,)](
        q, k, v, o, lse, alpha, M, k.shape[2], D, B * H, BM=64, BN=16, BD=max(64, triton.next_power_of_2(D))
    )
    return o, lse
