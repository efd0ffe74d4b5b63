# label: wrong
# title: the upper half of O is not rescaled
# says: the upper half of O is not multiplied by 2^(m_old − m_new) before the next block is added; it needs
#   the same factor as the lower half.
# names: not rescaled; one edit

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def lean_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, H, GROUP, S_q, S_k, D,
    q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d,
    CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, HALF: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    lo = tl.arange(0, HALF)
    hi = HALF + lo
    row_ok = (rows < S_q)[:, None]
    q_base = q_ptr + b * q_b + h * q_h + rows[:, None].to(tl.int64) * q_s
    q_lo = tl.load(q_base + lo[None, :] * q_d, mask=row_ok & (lo < D)[None, :], other=0.0)
    q_hi = tl.load(q_base + hi[None, :] * q_d, mask=row_ok & (hi < D)[None, :], other=0.0)
    k_base = k_ptr + b * k_b + h // GROUP * k_h
    v_base = v_ptr + b * v_b + h // GROUP * v_h
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    o_lo = tl.zeros((BLOCK_Q, HALF), tl.float32)
    o_hi = tl.zeros((BLOCK_Q, HALF), tl.float32)
    end = S_k
    if CAUSAL:
        end = tl.minimum(S_k, first + BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        there = (cols < S_k)[:, None]
        at_k = k_base + cols[:, None].to(tl.int64) * k_s
        at_v = v_base + cols[:, None].to(tl.int64) * v_s
        k_lo = tl.load(at_k + lo[None, :] * k_d, mask=there & (lo < D)[None, :], other=0.0)
        s = tl.dot(q_lo, tl.trans(k_lo), input_precision="ieee")
        k_hi = tl.load(at_k + hi[None, :] * k_d, mask=there & (hi < D)[None, :], other=0.0)
        s = tl.dot(q_hi, tl.trans(k_hi), s, input_precision="ieee") * scale
        keep = (cols < S_k)[None, :]
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None] + S_k - S_q)
        s = tl.where(keep, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        ref = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp2(s - ref[:, None])
        c = tl.exp2(m - ref)
        l = l * c + tl.sum(p, 1)
        m = m_new
        p = p.to(v_ptr.dtype.element_ty)
        v_lo = tl.load(at_v + lo[None, :] * v_d, mask=there & (lo < D)[None, :], other=0.0)
        o_lo = tl.dot(p, v_lo, o_lo * c[:, None], input_precision="ieee")
        v_hi = tl.load(at_v + hi[None, :] * v_d, mask=there & (hi < D)[None, :], other=0.0)
        o_hi = tl.dot(p, v_hi, o_hi, input_precision="ieee")
    inverse = 1.0 / tl.where(l == 0.0, 1.0, l)
    out = o_ptr + (bh * S_q + rows)[:, None] * D
    tl.store(out + lo[None, :], (o_lo * inverse[:, None]).to(o_ptr.dtype.element_ty), mask=row_ok & (lo < D)[None, :])
    tl.store(out + hi[None, :], (o_hi * inverse[:, None]).to(o_ptr.dtype.element_ty), mask=row_ok & (hi < D)[None, :])
    tl.store(lse_ptr + bh * S_q + rows, (m + tl.log2(l)) * 0.6931471805599453, mask=rows < S_q)


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE; the head is taken in two halves, so that no operand is wider than 64 at D 128."""
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    half = max(16, triton.next_power_of_2(D) // 2)
    lean_kernel[(triton.cdiv(S_q, 64), B * H)](
        q, k, v, o, lse, alpha * 1.4426950408889634, H, H // H_k, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(),
        CAUSAL=causal, BLOCK_Q=64, BLOCK_K=64 if q.element_size() == 2 else 32, HALF=half,
        num_warps=4, num_stages=2,
    )
    return o, lse
