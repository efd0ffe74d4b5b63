"""The backward kernels' tiles in torch, with faults by name: what the mistakes of lessons 07 and 08 compute.

    >>> dq = dq_scan(q, k, v, o, do, lse, alpha, faults=frozenset({"delta omitted"}))
    >>> dk, dv = dkv_scan(q, k, v, o, do, lse, alpha, causal=True, tile=(64, 32))     # no fault: right

Several faults can be made at once. `tile` is (queries, keys). Sums are carried in fp32, or in fp64 for fp64
inputs; P and dS are rounded to the inputs' dtype before the products that use them, as in the kernels.
A fault that needs square tiles raises ValueError for others.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.backward_tile import (
    TILED,
    At,
    Scan,
    add_step,
    load_rows,
    lse_of,
    p_and_ds,
    positions,
    require_square_tile,
    rounded_ds,
    scan_of,
)
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

__all__ = ["dkv_scan", "dq_scan", "scanned_keys", "scanned_queries"]

# ---------------------------------------------------------------- dQ


@tiled(TILED)
def dq_scan(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    causal: bool = False, faults: Faults = NONE, tile: Tile = (32, 32),
) -> Tensor:  # fmt: skip
    """dQ [B, H, S_q, D] in q's dtype, a block of queries after the other."""
    x = scan_of(q, k, v, o, do, lse, alpha, causal, faults)
    blocks = []
    for first in range(0, q.shape[2], tile[0]):
        rows = range(first, first + tile[0])
        inside = min(tile[0], q.shape[2] - first)
        blocks.append(_dq_block(x, rows, tile)[:, :, :inside])
    dq = torch.cat(blocks, dim=2)
    if "alpha without its sign at the end" in faults:
        dq = -dq if alpha < 0 else dq
    if "alpha not on dQ" not in faults:
        dq = alpha * dq
    return (alpha * dq if "alpha twice on dQ" in faults else dq).to(q.dtype)


def _dq_block(x: Scan, rows: range, tile: Tile) -> Tensor:
    q, o, do = (load_rows(t, rows) for t in (x.q, x.o, x.do))
    lse = lse_of(x, rows, 0.0)
    dq = torch.zeros_like(q)
    begin, end = scanned_keys(x, rows.start, tile)
    for start in range(begin, end, tile[1]):
        columns, stays = range(start, start + tile[1]), range(tile[1])
        k = load_rows(x.k, stays if "K stays" in x.faults else columns)
        v = load_rows(x.v, stays if "V stays" in x.faults else columns)
        _, ds = p_and_ds(x, q, k, v, o, do, lse, rows, columns)
        ds = rounded_ds(x, ds)
        if "dS transposed" in x.faults:
            require_square_tile(rows, columns)
            ds = ds.mT
        dq = add_step(x, dq, ds @ (v if "dS meets V" in x.faults else k))
        if "alpha in every step" in x.faults and start + tile[1] < end:
            dq = x.alpha * dq
    return dq


def scanned_keys(x: Scan, first: int, tile: Tile) -> tuple[int, int]:
    """Where the loop over keys begins and ends, for the block of queries that begins at `first`."""
    S_k = x.k.shape[2]
    end = S_k
    if x.causal and "no causal mask" not in x.faults:
        end = min(S_k, first + tile[0] + x.offset + ("one key too many" in x.faults))
    if "top-left" in x.faults:
        end = min(S_k, first + tile[0])
    if "ends at the last key" in x.faults and x.causal:
        end = min(S_k, first + tile[0] + x.offset - 1)
    if x.faults & {"offset negated", "no early end"}:
        end = S_k
    if "bound negated" in x.faults:
        end = min(S_k, first + tile[0] - x.offset)
    if "ends one block early" in x.faults:
        end = min(S_k, first + x.offset) if x.causal else (S_k - 1) // tile[1] * tile[1]
    if "ends at the top-left diagonal" in x.faults:
        end = min(S_k, first + tile[0])
    if "whole blocks only" in x.faults:
        end = S_k // tile[1] * tile[1]
    if "ends at S_q" in x.faults:
        end = min(S_k, x.q.shape[2])
    begin = first if "starts at the own block" in x.faults else 0
    return (tile[1] if "first tile skipped" in x.faults else begin), end


# ---------------------------------------------------------------- dK and dV


@tiled(TILED)
def dkv_scan(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    causal: bool = False, faults: Faults = NONE, tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """dK and dV [B, H, S_k, D] in their inputs' dtypes, a block of keys after the other."""
    x = scan_of(q, k, v, o, do, lse, alpha, causal, faults)
    dks, dvs = [], []
    for first in range(0, k.shape[2], tile[1]):
        columns = range(first, first + tile[1])
        inside = min(tile[1], k.shape[2] - first)
        dk, dv = _dkv_block(x, columns, tile)
        dks.append(dk[:, :, :inside])
        dvs.append(dv[:, :, :inside])
    dk, dv = torch.cat(dks, dim=2), torch.cat(dvs, dim=2)
    if "alpha without its sign at the end" in faults:
        dk = -dk if alpha < 0 else dk
    if "alpha not on dK" not in faults:
        dk = alpha * dk
    if "alpha twice on dK" in faults:
        dk = alpha * dk
    if "alpha on dV" in faults:
        dv = alpha * dv
    if "dK stored as dV" in faults:
        dv = dk
    if "exchanged" in faults:
        dk, dv = dv, dk
    return dk.to(k.dtype), dv.to(v.dtype)


def _dkv_block(x: Scan, columns: range, tile: Tile) -> tuple[Tensor, Tensor]:
    k, v = (load_rows(t, columns) for t in (x.k, x.v))
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    begin, end = scanned_queries(x, columns.start, tile)
    for start in range(begin, end, tile[0]):
        rows: At = range(start, start + tile[0])
        stays = range(tile[0])
        if "clamped rows" in x.faults:
            rows = positions(rows).clamp(max=x.q.shape[2] - 1)
        q, o = (load_rows(t, rows) for t in (x.q, x.o))
        do = load_rows(x.do, stays if "dO stays" in x.faults else rows)
        if "Q stays" in x.faults:
            q = load_rows(x.q, stays)
        lse = lse_of(x, rows, math.inf)
        if "LSE filled with -inf" in x.faults:
            lse = load_rows(x.lse, rows, -math.inf)
        if "LSE filled with 0" in x.faults:
            lse = load_rows(x.lse, rows, 0.0)
        p, ds = p_and_ds(x, q, k, v, o, do, lse, rows, columns)
        p, ds = x.rounded(p), rounded_ds(x, ds)
        if x.faults & {"P not transposed", "dS not transposed", "dS meets K"}:
            require_square_tile(rows, columns)
        source = o if "dV from O" in x.faults else do
        weights = ds if "dV from dS" in x.faults else p
        dv = add_step(x, dv, (weights if "P not transposed" in x.faults else weights.mT) @ source)
        source = k if "dS meets K" in x.faults else do if "dS meets dO" in x.faults else q
        dk = add_step(x, dk, (ds if "dS not transposed" in x.faults else ds.mT) @ source)
    return dk, dv


def scanned_queries(x: Scan, first: int, tile: Tile) -> tuple[int, int]:
    """Where the loop over queries begins and ends, for the block of keys that begins at `first`."""
    S_q, S_k = x.q.shape[2], x.k.shape[2]
    begin, end = 0, S_q
    if x.causal and "no causal mask" not in x.faults:
        seen_from = first - (0 if "top-left" in x.faults else x.offset) - ("one key too many" in x.faults)
        begin = max(0, seen_from) // tile[0] * tile[0]
    if x.faults & {"offset negated", "no early end"}:
        begin = 0
    if "bound negated" in x.faults:
        begin = max(0, first + x.offset) // tile[0] * tile[0]
    if "starts one block late" in x.faults:
        begin += tile[0]
    if "start rounded up" in x.faults:
        begin = -(-max(0, first - x.offset) // tile[0]) * tile[0]
    if "starts at the top-left diagonal" in x.faults:
        begin = first
    if "first tile skipped" in x.faults:
        begin = tile[0]
    if "ends at S_k" in x.faults:
        end = S_k
    if "whole blocks only" in x.faults:
        end = S_q // tile[0] * tile[0]
    return begin, end
