# label: wrong
# title: l_i = fade * (l_i + the new sum)
# says: The new tile's sum of p is already relative to the new maximum: only the old l_i may be rescaled.
#   Here both are, so l_i (and with it O and LSE) is too small wherever the maximum rises, and 0 after
#   the first tile.
# names: the new sum is rescaled too

from torch import Tensor

from flashlearn.kernels.described import block_d, complying, described, like
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import LOG2_E


@triton.jit
def lean_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k,
    CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
        n = start + tl.arange(0, BLOCK_K)
        k = k_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T, input_precision="ieee") * scale
        s = tl.where((n < S_k)[None, :] & (n[None, :] <= last_seen[:, None]), s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        fade = tl.exp2(m_i - base)
        p = tl.exp2(s - base[:, None])
        l_i = fade * (l_i + tl.sum(p, 1))
        acc *= fade[:, None]
        v = v_desc.load([b, h_k, start, 0]).reshape(BLOCK_K, BLOCK_D)  # as late as possible
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
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
    cut = Shape(64, 64, 4, 1, 168)  # 48 KiB of shared memory: q, k, v
    if q.element_size() == 4:  # fp32 runs on no tensor core: small tiles
        cut = Shape(32, 32, 4, 1)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    lean_kernel[(triton.cdiv(S_q, cut.block_q), B * H)](
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(o, cut.block_q), lse, alpha * LOG2_E, H, H_k, S_q, S_k,
        CAUSAL=causal, BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_D=block_d(D), **cut.options,
    )
    return o, lse
