"""The clinic's forward patients, in health: four small kernels for one head, [S, D] and contiguous.

    >>> o, lse = clinic_9(q, k, v, alpha)

Lesson 10 admits each of them sick in one place: the STUB lines are the sick ones, the lines that they
replace are the cure. All names mean what they mean in lesson 06; S_q and S_k may be anything, D is a power
of two from 16 on, so that no lane of D is padded.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["clinic_5", "clinic_6", "clinic_8", "clinic_9"]


@triton.jit
def clinic_5_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # causal: query i sees the keys j ≤ i + S_k − S_q
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_5: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = in_keys[None, :] & (columns[None, :] <= rows[:, None] + S_k - S_q)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        ### BEGIN SOLUTION
        # STUB: l_i = l_i * rescale + tl.sum(p, axis=1)
        # STUB: p = tl.where(seen, p, 0.0)
        p = tl.where(seen, p, 0.0)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        ### END SOLUTION
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(o_ptr + query_tile, o, mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_5(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_5_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse


@triton.jit
def clinic_6_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # in powers of two, as fast kernels do it: e^x = 2^(x log2 e)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_6: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    log2e: tl.constexpr = 1.4426950408889634
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * log2e * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp2(m_i - m_new)
        p = tl.exp2(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    ### BEGIN SOLUTION
    # STUB: tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
    tl.store(lse_ptr + rows, (m_i + tl.log2(l_i)) / log2e, mask=in_queries)
    ### END SOLUTION


def clinic_6(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_6_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse


@triton.jit
def clinic_8_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # forward, all keys visible
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_8: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    ### BEGIN SOLUTION
    # STUB: acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)
    acc = tl.zeros((BLOCK, D), tl.float32)
    ### END SOLUTION
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")
        acc = (acc * rescale[:, None] + pv).to(acc.dtype)
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_8(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_8_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse


@triton.jit
def clinic_9_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D: tl.constexpr, BLOCK: tl.constexpr
):
    # forward, all keys visible
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO clinic_9: find the faulty line, fix it, remove this line")
    ### END SOLUTION
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    in_queries = rows < S_q
    query_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + query_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, S_k, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        in_keys = columns < S_k
        key_tile = columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + key_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")
        ### BEGIN SOLUTION
        # STUB: acc = acc + pv
        acc = acc * rescale[:, None] + pv
        ### END SOLUTION
        m_i = m_new
    tl.store(o_ptr + query_tile, acc / l_i[:, None], mask=in_queries[:, None])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def clinic_9(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    (S_q, D), S_k, BLOCK = q.shape, k.shape[0], 16
    o = torch.empty_like(q)
    lse = torch.empty(S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK),)
    clinic_9_kernel[grid](q, k, v, o, lse, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
    return o, lse
