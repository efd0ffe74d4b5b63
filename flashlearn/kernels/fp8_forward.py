"""FlashAttention's forward pass on eight-bit operands: both products in e4m3, all sums in fp32.

    >>> q8, k8, v8 = (x.to(torch.float8_e4m3fn) for x in torch.randn(3, 1, 2, 256, 64))
    >>> ones = torch.ones(1, 2, 2)                          # one scale for every 128 rows of a head
    >>> o, lse = fp8_forward(q8, k8, v8, ones, ones, ones, False, 0.125)     # bf16, fp32

Scales belong to blocks of 128 rows of a head, as in FlashAttention-3 (Shah et al., 2024, section 3.3). Those
of Q and K join alpha · log₂e, one number per tile; that of V stays in the accumulator's unit, which changes
from tile to tile together with the maximum. P, at most 1, meets e4m3 as 256 · P: the factor stands in the
exponent and in the row's sum, and cancels. Each tile's P V is a product of its own, added to the others in
fp32 registers: what tensor cores add up of eight-bit products keeps some 14 bits (DeepSeek-V3's report, 2024,
section 3.3), too few for a sum over many tiles.

Hopper's eight-bit `wgmma` reads operands along the summed dimension only ("k-major": PTX ISA,
"wgmma.mma_async"). For P V that dimension is the keys, so V is stored [.., D, S] first. What a thread holds
of P in accumulators are keys 2t, 2t + 1, 8 + 2t, 9 + 2t of every 16; what it must hold as an operand are four
in a row. The sum does not mind the order: V's keys are stored in the one that P comes in, and P's columns are
renamed. The lines between BEGIN and END SOLUTION are lesson 14's exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.described import ALIGNED, block_d, complying, described, heads_together
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import LOG2_E

__all__ = ["SCALED_ROWS", "fp8_forward", "keys_last"]

SCALED_ROWS = 128
"""Rows of a head that share one scale."""


@triton.jit
def keys_last_kernel(
    v_ptr, t_ptr, H, S, D, S_PADDED, v_batch, v_head, v_row, v_col,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # program (i, h) copies BLOCK_K keys of head h, transposed, each 16 of them in the order in which P comes
    place = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    key = place // 16 * 16 + place % 4 // 2 * 8 + place % 16 // 4 * 2 + place % 2
    bh = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    in_head = (key < S)[:, None] & (d < D)[None, :]
    v_at = v_ptr + bh // H * v_batch + bh % H * v_head + key.to(tl.int64)[:, None] * v_row
    v = tl.load(v_at + d[None, :] * v_col, mask=in_head, other=0.0)
    in_result = (d < D)[:, None] & (place < S_PADDED)[None, :]
    t_at = t_ptr + bh * D * S_PADDED + d[:, None].to(tl.int64) * S_PADDED + place[None, :]
    tl.store(t_at, tl.trans(v), mask=in_result)


def keys_last(v: Tensor) -> Tensor:
    """v [B, H, S, D] of eight bits as [B, H, D, S], S padded with zeros to a multiple of 16.

    Of every 16 keys, place 4t + 2h + l has key 8h + 2t + l.
    """
    B, H, S, D = v.shape
    padded = triton.cdiv(S, ALIGNED) * ALIGNED
    t = torch.empty((B, H, D, padded), dtype=v.dtype, device=v.device)
    keys_last_kernel[(triton.cdiv(padded, 64), B * H)](
        v, t, H, S, D, padded, *v.stride(), BLOCK_K=64, BLOCK_D=block_d(D)
    )
    return t


@triton.jit
def as_stored(p):
    # P's columns renamed: of every 16, key 8h + 2t + l becomes column 4t + 2h + l, as in `keys_last`
    rows: tl.constexpr = p.shape[0]
    keys: tl.constexpr = p.shape[1]
    return p.reshape(rows, keys // 16, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(rows, keys)


@triton.jit
def scan_keys_fp8(
    q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, first, end, last_seen,
    S_k, MASKED: tl.constexpr, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # scale is alpha · log₂e · q's scale; m_i is in base 2. l_i and acc both hold 256 times P, so O so far is
    # acc · unit / l_i. ROWS keys share a scale of K and one of V
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO fp8_forward: one pass over the keys, both products in e4m3")
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T)
        c = scale * tl.load(k_scale_ptr + start // ROWS)
        v_scale = tl.load(v_scale_ptr + start // ROWS)
        if MASKED:
            columns = start + tl.arange(0, BLOCK_K)
            seen = (columns < S_k)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= last_seen[:, None])
            s = tl.where(seen, s * c, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet
            p = tl.exp2(s - (shift[:, None] - 8.0))  # 256 times P: small probabilities stay normal numbers
        else:
            best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * c)
            shift = m_new
            p = tl.exp2(s * c - (shift[:, None] - 8.0))
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)  # before P is rounded
        t = t_desc.load([b, h, 0, start]).reshape(BLOCK_D, BLOCK_K)
        new = tl.dot(as_stored(p.to(t.dtype)), t.T)  # not into acc: too few bits would be kept
        acc = acc * (rescale * (unit / v_scale))[:, None] + new  # from the last block's unit into this one's
        unit = v_scale
        m_i = m_new
    ### END SOLUTION
    return m_i, l_i, acc, unit


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def fp8_forward_kernel(
    q_desc, k_desc, t_desc, o_ptr, lse_ptr, q_scale_ptr, k_scale_ptr, v_scale_ptr, alpha2, H, S_q, S_k, D,
    GROUP, TILES, CAUSAL: tl.constexpr, NEGATIVE: tl.constexpr, RAGGED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    # program ids as in `tuned_forward_kernel`: the same block of GROUP heads in a row, heaviest first
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    q = q_desc.load([b, h, first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    scale = alpha2 * tl.load(q_scale_ptr + bh * tl.cdiv(S_q, ROWS) + first_row // ROWS)
    k_scale_ptr += bh * tl.cdiv(S_k, ROWS)
    v_scale_ptr += bh * tl.cdiv(S_k, ROWS)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    unit = 1.0
    last_seen = rows + S_k - S_q
    unmasked, end = S_k, S_k
    if CAUSAL:
        end = tl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        unmasked = tl.minimum(S_k, tl.maximum(first_row + S_k - S_q + 1, 0))
    if CAUSAL or RAGGED:
        unmasked = unmasked // BLOCK_K * BLOCK_K
    m_i, l_i, acc, unit = scan_keys_fp8(
        q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, 0, unmasked,
        last_seen, S_k, False, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D, ROWS,
    )  # fmt: skip
    if CAUSAL or RAGGED:
        m_i, l_i, acc, unit = scan_keys_fp8(
            q, k_desc, t_desc, k_scale_ptr, v_scale_ptr, m_i, l_i, acc, unit, scale, b, h, unmasked, end,
            last_seen, S_k, True, CAUSAL, NEGATIVE, BLOCK_K, BLOCK_D, ROWS,
        )  # fmt: skip
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO fp8_forward: O and LSE from acc, unit, l_i and m_i")
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = acc * (unit / l_i)[:, None]  # acc and l_i both hold 256 times P
    lse = (m_i + tl.log2(l_i) - 8.0) * 0.6931471805599453
    ### END SOLUTION
    d = tl.arange(0, BLOCK_D)
    in_rows = rows < S_q
    o_at = o_ptr + (bh.to(tl.int64) * S_q + rows)[:, None] * D + d[None, :]
    tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=in_rows[:, None] & (d < D)[None, :])
    tl.store(lse_ptr + bh.to(tl.int64) * S_q + rows, lse, mask=in_rows)


def fp8_shape(D: int) -> Shape:
    """Queries and keys of a tile, warps, stages, for D columns: up to 128 none spills on an H100."""
    if D <= 64:
        return Shape(64, 128, 4, 2)
    if D <= 128:
        return Shape(64, 128, 4, 2, registers=160)  # three programs share a multiprocessor
    return Shape(64, 64, 4, 1)


def fp8_forward(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool,
    alpha: float, shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O [B, H, S_q, D] in bf16 and LSE [B, H, S_q] in fp32 of attention over e4m3 tensors with scales.

    q [B, H, S_q, D], k and v [B, H, S_k, D] in e4m3, any strides; scales [B, H, ⌈S/128⌉] in fp32, contiguous,
    positive: row i of q stands for q · q_scale[.., i // 128]. A tile's sides must divide 128.
    Raises TypeError for another dtype, ValueError for tiles that would need two scales.
    """
    if not (q.dtype == k.dtype == v.dtype == torch.float8_e4m3fn):
        raise TypeError(f"q, k, v are {q.dtype}, {k.dtype}, {v.dtype}: expected float8_e4m3fn for each")
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    cut = shape or fp8_shape(D)
    if SCALED_ROWS % cut.block_q or SCALED_ROWS % cut.block_k:
        raise ValueError(f"tiles of {cut.block_q} × {cut.block_k} need several scales: take divisors of 128")
    q, k, t = complying(q), complying(k), keys_last(v)
    o = torch.empty((B, H, S_q, D), dtype=torch.bfloat16, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, cut.block_q)
    group = heads_together(B * H, tiles, 2 * S_k * D, causal)
    wide = max(32, block_d(D))  # an eight-bit product sums over 32 at least
    q_desc, k_desc = described(q, cut.block_q, wide), described(k, cut.block_k, wide)
    t_desc = described(t, wide, cut.block_k)
    fp8_forward_kernel[(tiles * B * H,)](
        q_desc, k_desc, t_desc, o, lse, q_scale, k_scale, v_scale,
        alpha * LOG2_E, H, S_q, S_k, D, group, tiles,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_D=wide, ROWS=SCALED_ROWS, **cut.options,
    )  # fmt: skip
    return o, lse
