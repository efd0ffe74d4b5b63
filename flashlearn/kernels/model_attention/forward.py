"""The forward pass of every variant of attention: `tuned_forward` with hooks for scores and masks.

    >>> options = Options(alpha=0.125, left=1023, right=0, softcap=30.0)
    >>> o, lse = variant_forward(q, k, v, options)            # o like q, lse [B, H, S_q] in fp32

Whole blocks that every query of a program sees are scanned without a mask; those that an edge of the band
cuts, before and after them, with one; and blocks that no query sees, not at all. A sink is one more key with
a score of its own and a value of zero: the online softmax starts with it. Dropout leaves out weights after
the sum: LSE does not know of it. Of packed sequences the programs take their tiles from a list.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.compiled_launches import Call, launch
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.model_attention.hooks import kept, positioned, raised, scored, visible
from flashlearn.kernels.model_attention.launch_shapes import variant_forward_shape
from flashlearn.kernels.model_attention.options import Options
from flashlearn.kernels.model_attention.tiles import capacity, inside, list_call, place, scanned_keys
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_forward import EDGE

__all__ = ["Extras", "packed_strides", "variant_forward"]


@dataclass(frozen=True)
class Extras:
    """Tensors beside q, k and v: ALiBi's slopes [B, H] in fp32, logits of sinks [H] in fp32, the bounds of
    packed sequences [sequences + 1] in int32, and dropout's seed [1] in int64."""

    slopes: Tensor | None = None
    sinks: Tensor | None = None
    cu_q: Tensor | None = None
    cu_k: Tensor | None = None
    seed: Tensor | None = None

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return self.slopes is self.sinks is self.cu_q is self.seed is None

    @property
    def constants(self) -> dict[str, bool]:
        """Which of them a kernel is compiled for."""
        return {
            "ALIBI": self.slopes is not None,
            "DROPOUT": self.seed is not None,
            "VARLEN": self.cu_q is not None,
        }

    def or_else(self, filler: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Slopes, sinks, cu_q, cu_k, seed; the filler, which no kernel reads, in place of those missing."""
        given = (self.slopes, self.sinks, self.cu_q, self.cu_k, self.seed)
        return tuple(filler if t is None else t for t in given)


@triton.jit
def scan(
    q, k_desc, v_desc, m_i, l_i, acc, scale, cap, slope, left, right, seed, threshold, head, b, h_k, first_k,
    first, end, first_row, origin, at_query, S_k,
    MASKED: tl.constexpr, CLEANED: tl.constexpr, NEGATIVE: tl.constexpr, LEFT: tl.constexpr,
    RIGHT: tl.constexpr, SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr,
    DROPOUT: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # the online softmax over keys first … end, base 2; m_i in its units. CLEANED blocks may reach beyond S_k
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h_k, first_k + start, 0]).reshape(BLOCK_K, BLOCK_D)
        s = tl.dot(q, k.T, input_precision="ieee")
        if MASKED or SOFTCAP or ALIBI:
            at_key = start + tl.arange(0, BLOCK_K)
            s = scored(s, scale, cap, SOFTCAP)
            s = positioned(s, at_query[:, None], at_key[None, :], origin, slope, ALIBI, AHEAD)
            if MASKED:
                seen = visible(at_query[:, None], at_key[None, :], S_k, left, right, LEFT, RIGHT)
                s = tl.where(seen, s, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = m_new
            if MASKED:
                shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing yet: -inf + inf would be NaN
            p = tl.exp2(s - shift[:, None])
        else:
            # the largest of scale · s is scale times the smallest s where scale is negative
            best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)
            m_new = tl.maximum(m_i, best * scale)
            shift = m_new
            p = tl.exp2(s * scale - shift[:, None])  # one multiply-add and one exponential per score
        rescale = tl.exp2(m_i - shift)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        if DROPOUT:
            p = tl.where(kept(seed, head, first_row, start, threshold, BLOCK_Q, BLOCK_K), p, 0.0)
        v = v_desc.load([b, h_k, first_k + start, 0]).reshape(BLOCK_K, BLOCK_D)
        if CLEANED:  # rows of the next sequence: 0 · inf would be NaN
            v = tl.where((start + tl.arange(0, BLOCK_K) < S_k)[:, None], v, 0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    return m_i, l_i, acc


@triton.jit(
    do_not_specialize=[
        "GROUP", "TILES", "H", "H_K", "S_q", "S_k", "left", "right", "threshold", "slope_batch",
    ]
)  # fmt: skip
def variant_forward_kernel(
    q_desc, k_desc, v_desc, k_edge, v_edge, o_desc, o_ptr, lse_ptr,
    slopes_ptr, sinks_ptr, cu_q_ptr, cu_k_ptr, seed_ptr, tiles_ptr,
    scale, cap, left, right, threshold, kept_scale, slope_batch,
    H, H_K, S_q, S_k, D, o_head, o_row, GROUP, TILES,
    NEGATIVE: tl.constexpr, RAGGED: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr, DROPOUT: tl.constexpr,
    VARLEN: tl.constexpr, SINKS: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # k_edge and v_edge describe k and v in blocks of BLOCK_EDGE keys, for what a mask cuts
    rows_in_all = S_q
    b, h, sequence, block, first_q, first_k, S_q, S_k = place(
        tiles_ptr, cu_q_ptr, cu_k_ptr, H, S_q, S_k, GROUP, TILES, RIGHT, VARLEN
    )
    BOUNDED: tl.constexpr = LEFT or RIGHT or RAGGED or VARLEN
    h_k = h // (H // H_K)  # the head of K and V that serves this head of Q
    head = sequence * H + h  # as dropout counts heads
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    origin = first_row + S_k - S_q
    at_query = rows + S_k - S_q
    slope, seed = 0.0, 0
    if ALIBI:
        slope = tl.load(slopes_ptr + sequence * slope_batch + h) * 1.4426950408889634  # log₂e
    if DROPOUT:
        seed = tl.load(seed_ptr)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    if SINKS:
        m_i = tl.zeros((BLOCK_Q,), tl.float32) + tl.load(sinks_ptr + h) * 1.4426950408889634
        m_i = raised(m_i, at_query, origin, slope, ALIBI, AHEAD)
        l_i += 1.0
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    q = q_desc.load([b, h, first_q + first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    first, whole, edge, end = scanned_keys(
        first_row, S_q, S_k, left, right, LEFT, RIGHT, BOUNDED, BLOCK_Q, BLOCK_K, BLOCK_EDGE
    )
    if LEFT:
        m_i, l_i, acc = scan(
            q, k_edge, v_edge, m_i, l_i, acc, scale, cap, slope, left, right, seed, threshold, head, b, h_k,
            first_k, first, whole, first_row, origin, at_query, S_k,
            True, VARLEN, NEGATIVE, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_EDGE, BLOCK_D,
        )  # fmt: skip
    m_i, l_i, acc = scan(
        q, k_desc, v_desc, m_i, l_i, acc, scale, cap, slope, left, right, seed, threshold, head, b, h_k,
        first_k, whole, edge, first_row, origin, at_query, S_k,
        False, False, NEGATIVE, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
    )  # fmt: skip
    if VARLEN:
        cut = inside(edge, end, S_k, BLOCK_EDGE)
        m_i, l_i, acc = scan(
            q, k_edge, v_edge, m_i, l_i, acc, scale, cap, slope, left, right, seed, threshold, head, b, h_k,
            first_k, edge, cut, first_row, origin, at_query, S_k,
            True, False, NEGATIVE, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_EDGE, BLOCK_D,
        )  # fmt: skip
        edge = cut
    if BOUNDED:
        m_i, l_i, acc = scan(
            q, k_edge, v_edge, m_i, l_i, acc, scale, cap, slope, left, right, seed, threshold, head, b, h_k,
            first_k, edge, end, first_row, origin, at_query, S_k,
            True, VARLEN, NEGATIVE, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_EDGE, BLOCK_D,
        )  # fmt: skip
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    if DROPOUT:
        acc = acc * kept_scale
    o = (acc / l_i[:, None]).to(o_desc.dtype)
    m_i = raised(m_i, at_query, origin, -slope, ALIBI, AHEAD)
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453  # ln 2: LSE is kept in natural log
    tl.store(lse_ptr + (b * H + h).to(tl.int64) * rows_in_all + first_q + rows, lse, mask=rows < S_q)
    if VARLEN:  # a whole tile would reach into the next sequence
        d = tl.arange(0, BLOCK_D)
        at = (first_q + rows).to(tl.int64)[:, None] * o_row + d[None, :]
        tl.store(o_ptr + h * o_head + at, o, mask=(rows < S_q)[:, None] & (d < D)[None, :])
    else:
        o_desc.store([b, h, first_row, 0], o.reshape(1, 1, BLOCK_Q, BLOCK_D))


def variant_forward(
    q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras | None = None,
    shape: Shape | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Packed sequences lie one after another along S, with B = 1. Any strides. Nothing is checked here.
    """
    extras = extras or Extras()
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    cut = shape or variant_forward_shape(q, options, extras)
    varlen = extras.cu_q is not None
    # packed: heads of a row lie together, as q's do
    o = like(q, (S_q, H, D)).transpose(0, 1)[None] if varlen else like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = capacity(extras.cu_q.shape[0] - 1, S_q, cut.block_q) if varlen else triton.cdiv(S_q, cut.block_q)
    listed = extras.cu_q.new_empty((tiles, 2)) if varlen else lse
    tensors = (q, k, v, o, lse, *extras.or_else(lse), listed)

    def calls() -> list[Call]:
        made = _call(tensors, options, extras, cut, tiles)
        return [list_call(extras.cu_q, listed, cut.block_q), made] if varlen else [made]

    strides = (q.stride(), k.stride(), v.stride())
    sequences = extras.cu_q.shape[0] if varlen else 0
    of_slopes = extras.slopes.stride(0) if extras.slopes is not None else 0
    features = tuple(t is None for t in (extras.slopes, extras.sinks, extras.seed))
    key = (
        "variant forward", options, cut, q.dtype, q.device, q.shape, k.shape, *strides,
        sequences, of_slopes, features,
    )  # fmt: skip
    launch(key, tensors, calls)
    return o, lse


def packed_strides(t: Tensor, extras: Extras) -> tuple[int, int]:
    """Of heads and rows where a kernel stores by address; elsewhere 0, so that one kernel is compiled."""
    return (t.stride(1), t.stride(2)) if extras.cu_q is not None else (0, 0)


def _call(tensors: tuple[Tensor, ...], options: Options, extras: Extras, cut: Shape, tiles: int) -> Call:
    q, k, v, o, lse, *others, listed = tensors
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    left, right = options.band
    edge = min(EDGE, cut.block_k)
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, options.right is not None)
    arguments = (
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(k, edge), described(v, edge), described(o, cut.block_q), o, lse, *others, listed,
        options.scale, options.cap, left, right, options.threshold, options.kept_scale,
        extras.slopes.stride(0) if extras.slopes is not None else 0,
        H, H_k, S_q, S_k, D, *packed_strides(o, extras), group, tiles,
    )  # fmt: skip
    constants = {
        "NEGATIVE": options.alpha < 0 and options.softcap is None and extras.slopes is None,
        "RAGGED": S_k % cut.block_k != 0 and not options.banded and extras.cu_q is None,
        "LEFT": options.left is not None, "RIGHT": options.right is not None,
        "SOFTCAP": options.softcap is not None, "AHEAD": extras.slopes is not None and options.sees_ahead,
        **extras.constants, "SINKS": extras.sinks is not None,
        "BLOCK_Q": cut.block_q, "BLOCK_K": cut.block_k, "BLOCK_EDGE": edge, "BLOCK_D": block_d(D),
    }  # fmt: skip
    return Call(variant_forward_kernel, (tiles * B * H,), arguments, constants, cut.options)
