# label: right
# title: one stage, V after the exponentials

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.described import block_d, complying, described, like
from flashlearn.kernels.shapes import Shape

LOG2_E = 1.4426950408889634


@triton.jit
def lean_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k,
    CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # a program: BLOCK_Q queries of one head; scale is alpha · log2 e, so that powers are those of two
    bh, first_row = tl.program_id(1), tl.program_id(0) * BLOCK_Q
    b, h, h_k = bh // H, bh % H, bh % H // (H // H_K)
    rows = first_row + tl.arange(0, BLOCK_Q)
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q if CAUSAL else rows * 0 + S_k - 1
    end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q) if CAUSAL else S_k
    for start in range(0, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        seen = (columns < S_k)[None, :] & (columns[None, :] <= last_seen[:, None])
        k = k_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.where(seen, tl.dot(q, k.T, input_precision="ieee") * scale, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp2(m_i - shift)
        p = tl.exp2(s - shift[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        v = v_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)  # K is read: V may lie where it lay
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = (acc / l_i[:, None]).to(o_desc.dtype)
    o_desc.store([b, h, first_row, 0], o.reshape(1, 1, BLOCK_Q, BLOCK_D))
    lse = (m_i + tl.log2(l_i)) / 1.4426950408889634  # in natural log
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=rows < S_q)


def lean_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE as `tuned_forward` returns them."""
    q, k, v = complying(q), complying(k), complying(v)  # copied where no descriptor is possible
    (B, H, S_q, D), (H_k, S_k) = q.shape, k.shape[1:3]
    cut = Shape(64, 128, 4, 1)
    if q.element_size() == 4:  # fp32 runs on no tensor core: small tiles
        cut = Shape(32, 32, 4, 1)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    lean_kernel[(triton.cdiv(S_q, cut.block_q), B * H)](
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(o, cut.block_q), lse, alpha * LOG2_E, H, H_k, S_q, S_k,
        CAUSAL=causal, BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_D=block_d(D), **cut.options,
    )  # fmt: skip
    return o, lse
