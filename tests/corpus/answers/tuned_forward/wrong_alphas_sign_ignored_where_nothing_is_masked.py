# label: wrong
# title: alpha's sign ignored in the loop without a mask
# says: Where alpha is negative the largest product gives the smallest score, in whole tiles too.
# names: alpha folded into the maximum; one edit

from torch import Tensor
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, forward_shape
from flashlearn.kernels.tuned_forward import EDGE, LOG2_E, refuse_misfits

@triton.jit
def scan_keys(
    q, k_desc, v_desc, m_i, l_i, acc, scale, b, h, first, end, last_seen, S_k,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T, input_precision="ieee")
        if MASKED:
            columns = start + tl.arange(0, BLOCK_K)
            seen = (columns < S_k)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= last_seen[:, None])
            s = tl.where(seen, s * scale, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
            p = tl.exp2(s - shift[:, None])
        else:
            best = tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * scale)
            shift = m_new
            p = tl.exp2(s * scale - shift[:, None])
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        v = v_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    return m_i, l_i, acc


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_forward_kernel(
    q_desc, k_desc, v_desc, k_edge, v_edge, o_desc, lse_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES,
    CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    h_k = h // (H // H_K)
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K
    m_i, l_i, acc = scan_keys(
        q, k_desc, v_desc, m_i, l_i, acc, scale, b, h_k, 0, unmasked, last_seen, S_k,
        False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D,
    )
    if CAUSAL or RAGGED:
        m_i, l_i, acc = scan_keys(
            q, k_edge, v_edge, m_i, l_i, acc, scale, b, h_k, unmasked, end, last_seen, S_k,
            True, CAUSAL, NEGATIVE, BLOCK_EDGE, BLOCK_D,
        )
    l_i = tl.where(l_i == 0.0, 1.0, l_i)
    o = (acc / l_i[:, None]).to(o_desc.dtype)
    o_desc.store([b, h, first_row, 0], o.reshape(1, 1, BLOCK_Q, BLOCK_D))
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=rows < S_q)


# INCLUDE: _tuned_forward
