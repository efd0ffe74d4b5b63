"""FlashAttention's forward pass, fast: the kernel of lesson 06 after the steps of lesson 12.

    >>> q, k, v = (torch.randn(1, 8, 512, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o, lse = tuned_forward(q, k, v, causal=True)          # o like q, lse [1, 8, 512] in fp32

What differs from the plain kernel: powers of two with alpha · log₂e folded into one multiply-add; blocks
that every query of the program sees are scanned without a mask, the rest after them; blocks arrive by
tensor descriptors; heavy blocks first, neighbouring heads side by side; and block shapes that let two or
three programs share a multiprocessor, so that one multiplies while another takes exponentials. Sources:
FlashAttention-2 (Dao, 2023, sections 3.1 to 3.3), FlashAttention-3 (Shah et al., 2024, section 3) for what
has to overlap. Tensors are [B, H, S, D]; K and V may have fewer heads, which then serve several of Q's in
turn (grouped queries). Causal masks are aligned bottom-right, and a query that sees no key gets O = 0 and
LSE = −inf. The lines between BEGIN and END SOLUTION are lesson 12's exercise.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.shapes import Shape, forward_shape

__all__ = ["LOG2_E", "refuse_misfits", "tuned_forward"]

LOG2_E = math.log2(math.e)
SUPPORTED_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
EDGE = 64
"""Keys of a block that a mask cuts: small blocks reach less far beyond what is seen."""


@triton.jit
def scan_keys(
    q, k_desc, v_desc, m_i, l_i, acc, scale, b, h, first, end, last_seen, S_k,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # the online softmax over keys first … end, base 2: scale is alpha · log₂e, m_i in its units
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO tuned_forward: the loop over keys, with MASKED and without")
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
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
            p = tl.exp2(s - shift[:, None])
        else:
            # the largest of scale · s is scale times the smallest s where scale is negative
            best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * scale)
            shift = m_new
            p = tl.exp2(s * scale - shift[:, None])  # one multiply-add and one exponential per score
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        v = v_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    ### END SOLUTION
    return m_i, l_i, acc


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def tuned_forward_kernel(
    q_desc, k_desc, v_desc, k_edge, v_edge, o_desc, lse_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES,
    CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
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
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO tuned_forward: unmasked blocks, then masked ones; store o, lse")
    h_k = h // (H // H_K)  # the head of K and V that serves this head of Q
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K  # whole blocks that every query of the program sees
    m_i, l_i, acc = scan_keys(
        q, k_desc, v_desc, m_i, l_i, acc, scale, b, h_k, 0, unmasked, last_seen, S_k,
        False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D,
    )  # fmt: skip
    if CAUSAL or RAGGED:
        m_i, l_i, acc = scan_keys(
            q, k_edge, v_edge, m_i, l_i, acc, scale, b, h_k, unmasked, end, last_seen, S_k,
            True, CAUSAL, NEGATIVE, BLOCK_EDGE, BLOCK_D,
        )  # fmt: skip
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = (acc / l_i[:, None]).to(o_desc.dtype)
    o_desc.store([b, h, first_row, 0], o.reshape(1, 1, BLOCK_Q, BLOCK_D))
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453  # ln 2: LSE is kept in natural log
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=rows < S_q)
    ### END SOLUTION


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what does not go together."""
    if _fit(q, k, v):  # the sentences below take longer than a short problem
        return
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in SUPPORTED_DTYPES:
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: they share a device")
    if k.shape != v.shape or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(
            f"q is {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}: B and D are the same for all "
            "three, and k and v have one shape"
        )
    if q.shape[1] % k.shape[1]:
        raise ValueError(f"q has {q.shape[1]} heads and k has {k.shape[1]}: the second must divide the first")


def _fit(q: Tensor, k: Tensor, v: Tensor) -> bool:
    return (
        q.dtype == k.dtype == v.dtype
        and q.dtype in SUPPORTED_DTYPES
        and q.device == k.device == v.device
        and q.ndim == k.ndim == 4
        and k.shape == v.shape
        and q.shape[::3] == k.shape[::3]
        and q.shape[1] % k.shape[1] == 0
    )


def tuned_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None,
    shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Any strides; `alpha` is 1/√D unless given, `shape` is `forward_shape(q, causal)`. Raises TypeError or
    ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = shape or forward_shape(q, causal)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, cut.block_q)
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
    edge = min(EDGE, cut.block_k)
    tuned_forward_kernel[(tiles * B * H,)](
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(k, edge), described(v, edge), described(o, cut.block_q), lse, alpha * LOG2_E,
        H, H_k, S_q, S_k, group, tiles,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_EDGE=edge, BLOCK_D=block_d(D), **cut.options,
    )  # fmt: skip
    return o, lse
