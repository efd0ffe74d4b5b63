"""The backward pass of every variant of attention: `tuned_backward` with hooks for scores and masks.

    >>> dq, dk, dv, dsinks = variant_backward(q, k, v, o, do, lse, options)      # each like its input

P is rebuilt from LSE by the same hooks as in the forward pass, dropout's choice from the same Philox
numbers. With z = alpha q·k and s = cap · tanh(z / cap), ds/dz = 1 − (s / cap)², one multiply-add and one
product per score, fused into dS. With dropout O = Σ P Z V for Z of 0 or 1 / (1 − p): dP = Z (dO Vᵀ), and
delta is still Σ dO ∘ O. A sink has a weight but no value: dsink = −Σ P_sink delta over its queries. No sum is
added atomically: two calls agree bit for bit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.compiled_launches import Call, launch
from flashlearn.kernels.described import block_d, complying, described, heads_together, like
from flashlearn.kernels.model_attention.forward import Extras, packed_strides
from flashlearn.kernels.model_attention.hooks import kept, positioned, raised, scored, visible
from flashlearn.kernels.model_attention.launch_shapes import variant_backward_shapes
from flashlearn.kernels.model_attention.options import Options
from flashlearn.kernels.model_attention.tiles import (
    capacity,
    inside,
    list_call,
    place,
    scanned_keys,
    scanned_queries,
)
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_backward import PADDED, delta_call
from flashlearn.kernels.tuned_forward import LOG2_E

__all__ = ["variant_backward"]


@triton.jit
def scan_queries(
    dk, dv, k, v, q_desc, do_desc, lse_ptr, delta_ptr, scale, cap, slope, left, right,
    seed, threshold, kept_scale, head, b, h, first_q, first, end, first_column, at_key, shift, S_q, S_k,
    MASKED: tl.constexpr, CLEANED: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr, DROPOUT: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # Sᵀ, Pᵀ, dPᵀ and dSᵀ are [keys, queries]
    for start in tl.range(first, end, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        q = q_desc.load([b, h, first_q + start, 0]).reshape(BLOCK_Q, BLOCK_D)
        do = do_desc.load([b, h, first_q + start, 0]).reshape(BLOCK_Q, BLOCK_D)
        if CLEANED:  # rows of the next sequence: 0 · inf would be NaN
            in_rows = rows < S_q
            q = tl.where(in_rows[:, None], q, 0.0)
            do = tl.where(in_rows[:, None], do, 0.0)
            lse = tl.load(lse_ptr + rows, mask=in_rows, other=float("inf"))  # P = 0
            delta = tl.load(delta_ptr + rows, mask=in_rows, other=0.0)
        else:
            lse = tl.load(lse_ptr + rows)
            delta = tl.load(delta_ptr + rows)
        s = tl.dot(k, q.T, input_precision="ieee")
        dp = tl.dot(v, do.T, input_precision="ieee")
        s = scored(s, scale, cap, SOFTCAP)
        at_query = rows + shift
        weighed = positioned(s, at_query[None, :], at_key[:, None], start + shift, slope, ALIBI, AHEAD)
        lse = raised(lse, at_query, start + shift, slope, ALIBI, AHEAD)
        p = tl.exp2(weighed - lse[None, :])
        if MASKED:
            p = tl.where(visible(at_query[None, :], at_key[:, None], S_k, left, right, LEFT, RIGHT), p, 0.0)
        if DROPOUT:
            keep = kept(seed, head, start, first_column, threshold, BLOCK_Q, BLOCK_K).T
            dv = tl.dot(tl.where(keep, p, 0.0).to(do.dtype), do, dv, input_precision="ieee")
            dp = tl.where(keep, dp * kept_scale, 0.0)
        else:
            dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
        ds = p * (dp - delta[None, :])
        if SOFTCAP:
            share = s * (1.0 / cap)
            ds = ds - ds * share * share
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    return dk, dv


@triton.jit(
    do_not_specialize=[
        "GROUP", "TILES", "S_PADDED", "H", "H_K", "S_q", "S_k", "left", "right", "threshold", "slope_batch",
    ]
)  # fmt: skip
def variant_dkv_kernel(
    q_desc, k_desc, v_desc, do_desc, dk_desc, dv_desc, dk_ptr, dv_ptr, lse_ptr, delta_ptr,
    slopes_ptr, cu_q_ptr, cu_k_ptr, seed_ptr, tiles_ptr,
    alpha, scale, cap, left, right, threshold, kept_scale, slope_batch,
    H, H_K, S_q, S_k, S_PADDED, D, dk_head, dk_row, GROUP, TILES,
    LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr, DROPOUT: tl.constexpr,
    VARLEN: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # a program owns a block of keys of one head of K and V, and scans the queries of every head it serves.
    # Under a causal mask the first block of keys is seen most: it starts first
    b, h_k, sequence, block, first_q, first_k, S_q, S_k = place(
        tiles_ptr, cu_q_ptr, cu_k_ptr, H_K, S_q, S_k, GROUP, TILES, False, VARLEN
    )
    first_column = block * BLOCK_K
    at_key = first_column + tl.arange(0, BLOCK_K)
    k = k_desc.load([b, h_k, first_k + first_column, 0]).reshape(BLOCK_K, BLOCK_D)
    v = v_desc.load([b, h_k, first_k + first_column, 0]).reshape(BLOCK_K, BLOCK_D)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    slope, seed = 0.0, 0
    if DROPOUT:
        seed = tl.load(seed_ptr)
    shift = S_k - S_q
    first, whole, edge, end = scanned_queries(
        first_column, S_q, S_k, left, right, LEFT, RIGHT, VARLEN, BLOCK_Q, BLOCK_K
    )
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        lse_of_h = lse_ptr + (b * H + h).to(tl.int64) * S_PADDED + first_q
        delta_of_h = delta_ptr + (b * H + h).to(tl.int64) * S_PADDED + first_q
        head = sequence * H + h
        if ALIBI:
            slope = tl.load(slopes_ptr + sequence * slope_batch + h) * 1.4426950408889634  # log₂e
        if RIGHT:
            dk, dv = scan_queries(
                dk, dv, k, v, q_desc, do_desc, lse_of_h, delta_of_h, scale, cap, slope, left, right,
                seed, threshold, kept_scale, head, b, h, first_q, first, whole, first_column, at_key, shift,
                S_q, S_k, True, False, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
            )  # fmt: skip
        dk, dv = scan_queries(
            dk, dv, k, v, q_desc, do_desc, lse_of_h, delta_of_h, scale, cap, slope, left, right,
            seed, threshold, kept_scale, head, b, h, first_q, whole, edge, first_column, at_key, shift,
            S_q, S_k, False, False, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
        )  # fmt: skip
        if LEFT or VARLEN:
            dk, dv = scan_queries(
                dk, dv, k, v, q_desc, do_desc, lse_of_h, delta_of_h, scale, cap, slope, left, right,
                seed, threshold, kept_scale, head, b, h, first_q, edge, end, first_column, at_key, shift,
                S_q, S_k, True, VARLEN, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT,
                BLOCK_Q, BLOCK_K, BLOCK_D,
            )  # fmt: skip
    if DROPOUT:
        dv = dv * kept_scale
    dk = (dk * alpha).to(dk_desc.dtype)
    if VARLEN:  # a whole block would reach into the next sequence
        d = tl.arange(0, BLOCK_D)
        own = (at_key < S_k)[:, None] & (d < D)[None, :]
        at = h_k * dk_head + (first_k + at_key).to(tl.int64)[:, None] * dk_row + d[None, :]
        tl.store(dv_ptr + at, dv.to(dv_desc.dtype), mask=own)
        tl.store(dk_ptr + at, dk, mask=own)
    else:
        dv_desc.store([b, h_k, first_column, 0], dv.to(dv_desc.dtype).reshape(1, 1, BLOCK_K, BLOCK_D))
        dk_desc.store([b, h_k, first_column, 0], dk.reshape(1, 1, BLOCK_K, BLOCK_D))


@triton.jit
def scan_keys_again(
    dq, q, do, lse, delta, k_desc, v_desc, scale, cap, slope, left, right, seed, threshold, kept_scale,
    head, b, h_k, first_k, first, end, first_row, origin, at_query, S_k,
    MASKED: tl.constexpr, CLEANED: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr, DROPOUT: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # P and dS of this block of queries, [queries, keys], rebuilt for keys first … end
    for start in tl.range(first, end, BLOCK_K):
        k = k_desc.load([b, h_k, first_k + start, 0]).reshape(BLOCK_K, BLOCK_D)
        v = v_desc.load([b, h_k, first_k + start, 0]).reshape(BLOCK_K, BLOCK_D)
        at_key = start + tl.arange(0, BLOCK_K)
        if CLEANED:
            k = tl.where((at_key < S_k)[:, None], k, 0.0)
            v = tl.where((at_key < S_k)[:, None], v, 0.0)
        s = scored(tl.dot(q, k.T, input_precision="ieee"), scale, cap, SOFTCAP)
        dp = tl.dot(do, v.T, input_precision="ieee")
        weighed = positioned(s, at_query[:, None], at_key[None, :], origin, slope, ALIBI, AHEAD)
        if MASKED:
            seen = visible(at_query[:, None], at_key[None, :], S_k, left, right, LEFT, RIGHT)
            weighed = tl.where(seen, weighed, -float("inf"))
        if DROPOUT:
            keep = kept(seed, head, first_row, start, threshold, BLOCK_Q, BLOCK_K)
            dp = tl.where(keep, dp * kept_scale, 0.0)
        ds = tl.exp2(weighed - lse[:, None]) * (dp - delta[:, None])
        if SOFTCAP:
            share = s * (1.0 / cap)
            ds = ds - ds * share * share
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    return dq


@triton.jit(
    do_not_specialize=[
        "GROUP", "TILES", "S_PADDED", "H", "H_K", "S_q", "S_k", "left", "right", "threshold", "slope_batch",
    ]
)  # fmt: skip
def variant_dq_kernel(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dq_ptr, lse_ptr, delta_ptr,
    slopes_ptr, cu_q_ptr, cu_k_ptr, seed_ptr, tiles_ptr,
    alpha, scale, cap, left, right, threshold, kept_scale, slope_batch,
    H, H_K, S_q, S_k, S_PADDED, D, dq_head, dq_row, GROUP, TILES,
    RAGGED: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    SOFTCAP: tl.constexpr, ALIBI: tl.constexpr, AHEAD: tl.constexpr, DROPOUT: tl.constexpr,
    VARLEN: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # a program owns a block of queries, as in the forward pass, and rebuilds P and dS of it
    b, h, sequence, block, first_q, first_k, S_q, S_k = place(
        tiles_ptr, cu_q_ptr, cu_k_ptr, H, S_q, S_k, GROUP, TILES, RIGHT, VARLEN
    )
    BOUNDED: tl.constexpr = LEFT or RIGHT or RAGGED or VARLEN
    h_k = h // (H // H_K)
    head = sequence * H + h
    first_row = block * BLOCK_Q
    rows = first_row + tl.arange(0, BLOCK_Q)
    origin = first_row + S_k - S_q
    at_query = rows + S_k - S_q
    slope, seed = 0.0, 0
    if ALIBI:
        slope = tl.load(slopes_ptr + sequence * slope_batch + h) * 1.4426950408889634  # log₂e
    if DROPOUT:
        seed = tl.load(seed_ptr)
    q = q_desc.load([b, h, first_q + first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    do = do_desc.load([b, h, first_q + first_row, 0]).reshape(BLOCK_Q, BLOCK_D)
    row_of_h = (b * H + h).to(tl.int64) * S_PADDED + first_q
    if VARLEN:  # rows after the sequence, or after the padding
        lse = tl.load(lse_ptr + row_of_h + rows, mask=rows < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + row_of_h + rows, mask=rows < S_q, other=0.0)
    else:
        lse = tl.load(lse_ptr + row_of_h + rows)
        delta = tl.load(delta_ptr + row_of_h + rows)
    lse = raised(lse, at_query, origin, slope, ALIBI, AHEAD)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    first, whole, edge, end = scanned_keys(
        first_row, S_q, S_k, left, right, LEFT, RIGHT, BOUNDED, BLOCK_Q, BLOCK_K, BLOCK_K
    )
    if LEFT:
        dq = scan_keys_again(
            dq, q, do, lse, delta, k_desc, v_desc, scale, cap, slope, left, right, seed, threshold,
            kept_scale, head, b, h_k, first_k, first, whole, first_row, origin, at_query, S_k,
            True, VARLEN, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
        )  # fmt: skip
    dq = scan_keys_again(
        dq, q, do, lse, delta, k_desc, v_desc, scale, cap, slope, left, right, seed, threshold,
        kept_scale, head, b, h_k, first_k, whole, edge, first_row, origin, at_query, S_k,
        False, False, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
    )  # fmt: skip
    if VARLEN:
        cut = inside(edge, end, S_k, BLOCK_K)
        dq = scan_keys_again(
            dq, q, do, lse, delta, k_desc, v_desc, scale, cap, slope, left, right, seed, threshold,
            kept_scale, head, b, h_k, first_k, edge, cut, first_row, origin, at_query, S_k,
            True, False, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
        )  # fmt: skip
        edge = cut
    if BOUNDED:
        dq = scan_keys_again(
            dq, q, do, lse, delta, k_desc, v_desc, scale, cap, slope, left, right, seed, threshold,
            kept_scale, head, b, h_k, first_k, edge, end, first_row, origin, at_query, S_k,
            True, VARLEN, LEFT, RIGHT, SOFTCAP, ALIBI, AHEAD, DROPOUT, BLOCK_Q, BLOCK_K, BLOCK_D,
        )  # fmt: skip
    dq = (dq * alpha).to(dq_desc.dtype)
    if VARLEN:
        d = tl.arange(0, BLOCK_D)
        at = h * dq_head + (first_q + rows).to(tl.int64)[:, None] * dq_row + d[None, :]
        tl.store(dq_ptr + at, dq, mask=(rows < S_q)[:, None] & (d < D)[None, :])
    else:
        dq_desc.store([b, h, first_row, 0], dq.reshape(1, 1, BLOCK_Q, BLOCK_D))


def variant_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, options: Options,
    extras: Extras | None = None, shapes: tuple[Shape, Shape] | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """dQ, dK and dV, each of its input's shape and dtype, and the gradient of the sinks [H] in fp32 if any.

    o and lse are as `variant_forward` returned them, for the same options and extras.
    """
    extras = extras or Extras()
    q, k, v, do, lse = complying(q), complying(k), complying(v), complying(do), lse.contiguous()
    B, H, S_q, _ = q.shape
    varlen = extras.cu_q is not None
    cuts = shapes or variant_backward_shapes(q, options, extras)
    padded = triton.cdiv(S_q, PADDED) * PADDED
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=q.device)
    dq, dk, dv = (_gradient(t, varlen) for t in (q, k, v))
    lists = [lse, lse]
    if varlen:
        sequences = extras.cu_q.shape[0] - 1
        lists = [
            extras.cu_q.new_empty((capacity(sequences, rows, block), 2))
            for rows, block in ((k.shape[2], cuts[0].block_k), (S_q, cuts[1].block_q))
        ]
    slopes, _, cu_q, cu_k, seed = extras.or_else(lse)
    tensors = (q, k, v, do, dq, dk, dv, lse2, delta, o, lse, slopes, cu_q, cu_k, seed, *lists)

    def calls() -> list[Call]:
        listing = (
            [list_call(cu_k, lists[0], cuts[0].block_k), list_call(cu_q, lists[1], cuts[1].block_q)]
            if varlen
            else []
        )
        return [
            *listing,
            delta_call(o, do, lse, delta, lse2),
            _dkv_call(tensors, options, extras, cuts[0]),
            _dq_call(tensors, options, extras, cuts[1]),
        ]

    strides = tuple(t.stride() for t in (q, k, v, o, do))
    of_slopes = extras.slopes.stride(0) if extras.slopes is not None else 0
    features = (extras.slopes is None, extras.seed is None, extras.cu_q.shape[0] if varlen else 0)
    key = (
        "variant backward", options, cuts, q.dtype, q.device, q.shape, k.shape, strides, of_slopes, features,
    )  # fmt: skip
    launch(key, tensors, calls)
    if extras.sinks is None:
        return dq, dk, dv, None
    # queries that are not there have LSE = +inf, and the sink no weight
    weights = torch.exp2(extras.sinks[:, None] * LOG2_E - lse2.view(B, H, padded))
    return dq, dk, dv, -(weights * delta.view(B, H, padded)).sum(dim=(0, 2))


def _gradient(t: Tensor, packed: bool) -> Tensor:
    if packed:
        return like(t, (t.shape[2], t.shape[1], t.shape[3])).transpose(0, 1)[None]
    return like(t, t.shape)


def _numbers(q: Tensor, k: Tensor, written: Tensor, options: Options, extras: Extras, padded: int) -> tuple:
    _, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    return (
        options.alpha, options.scale, options.cap, *options.band, options.threshold, options.kept_scale,
        extras.slopes.stride(0) if extras.slopes is not None else 0,
        H, H_k, S_q, S_k, padded, D, *packed_strides(written, extras),
    )  # fmt: skip


def _constants(options: Options, extras: Extras, cut: Shape, D: int) -> dict[str, int]:
    return {
        "LEFT": options.left is not None, "RIGHT": options.right is not None,
        "SOFTCAP": options.softcap is not None, "AHEAD": extras.slopes is not None and options.sees_ahead,
        **extras.constants,
        "BLOCK_Q": cut.block_q, "BLOCK_K": cut.block_k, "BLOCK_D": block_d(D),
    }  # fmt: skip


def _dkv_call(tensors: tuple[Tensor, ...], options: Options, extras: Extras, cut: Shape) -> Call:
    q, k, v, do, _, dk, dv, lse2, delta, _, _, slopes, cu_q, cu_k, seed, listed, _ = tensors
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    tiles = listed.shape[0] if extras.cu_q is not None else triton.cdiv(S_k, cut.block_k)
    scanned = 2 * D * q.element_size() * S_q * H // H_k
    group = heads_together(B * H_k, tiles, scanned, options.right is not None)
    arguments = (
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(do, cut.block_q), described(dk, cut.block_k), described(dv, cut.block_k),
        dk, dv, lse2, delta, slopes, cu_q, cu_k, seed, listed,
        *_numbers(q, k, dk, options, extras, lse2.shape[1]), group, tiles,
    )  # fmt: skip
    constants = _constants(options, extras, cut, D)
    return Call(variant_dkv_kernel, (tiles * B * H_k,), arguments, constants, cut.options)


def _dq_call(tensors: tuple[Tensor, ...], options: Options, extras: Extras, cut: Shape) -> Call:
    q, k, v, do, dq, _, _, lse2, delta, _, _, slopes, cu_q, cu_k, seed, _, listed = tensors
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    tiles = listed.shape[0] if extras.cu_q is not None else triton.cdiv(S_q, cut.block_q)
    scanned = 2 * D * q.element_size() * S_k * H_k // H
    group = heads_together(B * H, tiles, scanned, options.right is not None)
    arguments = (
        described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k),
        described(do, cut.block_q), described(dq, cut.block_q), dq, lse2, delta,
        slopes, cu_q, cu_k, seed, listed,
        *_numbers(q, k, dq, options, extras, lse2.shape[1]), group, tiles,
    )  # fmt: skip
    ragged = S_k % cut.block_k != 0 and not options.banded and extras.cu_q is None
    constants = {"RAGGED": ragged, **_constants(options, extras, cut, D)}
    return Call(variant_dq_kernel, (tiles * B * H,), arguments, constants, cut.options)
