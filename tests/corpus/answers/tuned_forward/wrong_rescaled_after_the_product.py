# label: wrong
# title: rescaled after the product
# says: `acc = tl.dot(p, v, acc) * rescale` rescales the new tile's product too, which already is in the new
#   unit
# names: first tile missing; the new product is rescaled too

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
    # the online softmax over keys first … end, base 2: scale is alpha · log₂e, m_i in its units
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        v = v_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        x = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if MASKED:
            cols = start + tl.arange(0, BLOCK_K)
            keep = (cols < S_k)[None, :]
            if CAUSAL:
                keep = keep & (cols[None, :] <= last_seen[:, None])
            x = tl.where(keep, x, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        unit = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp2(m_i - unit)
        p = tl.exp2(x - unit[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee") * rescale[:, None]
        m_i = m_new
    return m_i, l_i, acc


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_forward_kernel(
    q_desc, k_desc, v_desc, k_edge, v_edge, o_desc, lse_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES,
    CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # program ids count blocks of queries, the same block of GROUP heads in a row; the grid has one axis.
    # k_edge and v_edge describe k and v in blocks of BLOCK_EDGE keys, for what a mask cuts
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block  # the last block of queries sees most keys: it starts first
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    kv_head = h // (H // H_K)
    q = tl.reshape(q_desc.load([b, h, first_row, 0]), (BLOCK_Q, BLOCK_D))
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    shift = S_k - S_q
    last_seen = rows + shift
    stop = S_k
    whole = S_k
    if CAUSAL:
        stop = tl.minimum(S_k, first_row + BLOCK_Q + shift)
        whole = tl.maximum(0, tl.minimum(S_k, first_row + 1 + shift))
    whole = whole // BLOCK_K * BLOCK_K
    m_i, l_i, acc = scan_keys(q, k_desc, v_desc, m_i, l_i, acc, scale, b, kv_head, 0, whole, last_seen, S_k,
                              False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D)
    m_i, l_i, acc = scan_keys(q, k_edge, v_edge, m_i, l_i, acc, scale, b, kv_head, whole, stop, last_seen, S_k,
                              True, CAUSAL, NEGATIVE, BLOCK_EDGE, BLOCK_D)
    l_i = tl.where(l_i == 0.0, 1.0, l_i)
    o_desc.store([b, h, first_row, 0], (acc / l_i[:, None]).to(o_desc.dtype).reshape(1, 1, BLOCK_Q, BLOCK_D))
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, m_i * 0.6931471805599453 + tl.log(l_i), mask=rows < S_q)


# INCLUDE: _tuned_forward
