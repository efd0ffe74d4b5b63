"""The clinic's backward patients, in health: six small kernels for one head, [S, D] and contiguous.

    >>> dq, dk, dv = clinic_1(q, k, v, o, do, lse, alpha)

Lesson 10 admits each of them sick in one place: the STUB lines are the sick ones, the lines that they
replace are the cure. All names mean what they mean in lessons 07 and 08; S_q and S_k may be anything, D is
a power of two from 16 on, so that no lane of D is padded.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["clinic_1", "clinic_2", "clinic_3", "clinic_4", "clinic_7", "clinic_10"]


@triton.jit
def clinic_1_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # one pass: a program owns a block of keys, scans the queries, and adds to dQ atomically
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_1: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
        dq = alpha * tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + query_tile, dq, mask=in_queries[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    ### BEGIN SOLUTION
    # STUB: tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    ### END SOLUTION


def clinic_1(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.zeros((S_q, D), dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_1_kernel[grid](q, k, v, do, lse, delta, dq, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq.to(q.dtype), dk, dv


@triton.jit
def clinic_2_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # two programs for each block of keys: each scans one half of the queries, and adds what it found
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_2: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    half = tl.cdiv(S_q, 2)
    first = tl.program_id(1) * half
    end = tl.minimum(S_q, first + half)
    for start in range(first, end, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_half = rows < end
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_half[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_half[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_half, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_half, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])
    ### BEGIN SOLUTION
    # STUB: so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    # STUB: tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    ### END SOLUTION


def clinic_2(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    grid = (triton.cdiv(S_k, BLOCK), 2)
    clinic_2_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk.to(k.dtype), dv.to(v.dtype)


@triton.jit
def clinic_3_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    # PARTS programs share each block of keys, and add their sums to dK and dV atomically
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_3: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.program_id(1)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    ### BEGIN SOLUTION
    # STUB: for start in range(0, S_q, BLOCK):
    for start in range(part * BLOCK, S_q, PARTS * BLOCK):
        ### END SOLUTION
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_3(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK, PARTS = q.shape, k.shape[0], 16, 4
    delta = (o.float() * do.float()).sum(-1)
    dk = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((S_k, D), dtype=torch.float32, device=k.device)
    grid = (triton.cdiv(S_k, BLOCK), PARTS)
    clinic_3_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK, PARTS=PARTS)
    return dk.to(k.dtype), dv.to(v.dtype)


@triton.jit
def clinic_4_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # a program owns a block of keys; row numbers stop at the last query, so that its loads need no mask
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_4: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        safe = tl.minimum(rows, S_q - 1)
        query_tile = safe[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile)
        do = tl.load(do_ptr + query_tile)
        lse_i = tl.load(lse_ptr + safe)
        delta_i = tl.load(delta_ptr + safe)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        ### BEGIN SOLUTION
        # STUB: p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
        ### END SOLUTION
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_4(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    clinic_4_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dk, dv


@triton.jit
def clinic_7_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # a program owns a block of queries, and scans the keys
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_7: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ### BEGIN SOLUTION
        # STUB: ds = p * dp
        ds = p * (dp - delta_i[:, None])
        ### END SOLUTION
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + query_tile, alpha * dq, mask=in_queries[:, None])


def clinic_7(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dq = torch.empty_like(q)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_7_kernel[grid](q, k, v, do, lse, delta, dq, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return dq


@triton.jit
def clinic_10_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # a program owns a block of keys, and scans the queries
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_10: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_keys = columns < S_k
    key_tile = columns[:, None] * D + d[None, :]
    k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    dk = tl.zeros((BLOCK, D), tl.float32)
    dv = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_q, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        in_queries = rows < S_q
        query_tile = rows[:, None] * D + d[None, :]
        q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        do = tl.load(do_ptr + query_tile, mask=in_queries[:, None], other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.store(dv_ptr + key_tile, dv, mask=in_keys[:, None])


def clinic_10(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float):
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    delta = (o.float() * do.float()).sum(-1)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (triton.cdiv(S_k, BLOCK),)
    ### BEGIN SOLUTION
    # STUB: clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_k, S_q, D=D, BLOCK=BLOCK)
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    ### END SOLUTION
    return dk, dv
