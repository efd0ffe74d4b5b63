"""The forward pass in eight rungs, each one change further than the one below: what lesson 12 counts and times.

    >>> o, lse = forward(RUNGS[3])(q, k, v, True, 0.125)

For experiments only: q, k and v are contiguous [B, H, S, D] of one shape, S is a multiple of the blocks and D a
power of two, so that no line speaks of anything but its rung.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.machine import device


@triton.jit
def _add_tile(
    q, k, v, m_i, l_i, acc, columns, rows, alpha, BASE2: tl.constexpr, MASKED: tl.constexpr
):  # fmt: skip
    x = tl.dot(q, tl.trans(k))
    if BASE2:
        c = alpha * 1.4426950408889634
        if MASKED:
            x = tl.where(columns[None, :] <= rows[:, None], x, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        rescale = tl.exp2((m_i - m_new) * c)
        p = tl.exp2(x * c - (m_new * c)[:, None])
    else:
        s = alpha * x
        if MASKED:
            s = tl.where(columns[None, :] <= rows[:, None], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
    l_i = l_i * rescale + tl.sum(p, axis=1)
    acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v)
    return m_new, l_i, acc


@triton.jit
def _tiles(
    q, kd, vd, k_ptr, v_ptr, m_i, l_i, acc, bh, first_key, end, rows, alpha, row,
    WIDE: tl.constexpr, BASE2: tl.constexpr, MASKED: tl.constexpr, DESCRIBED: tl.constexpr,
    BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, D)
    for start in range(first_key, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        if DESCRIBED:
            k = kd.load([bh, start, 0]).reshape(BLOCK_K, D)
            v = vd.load([bh, start, 0]).reshape(BLOCK_K, D)
        elif WIDE:  # a tile of 64-bit offsets, made anew in each step
            tile = columns.to(tl.int64)[:, None] * row + d[None, :]
            k, v = tl.load(k_ptr + tile), tl.load(v_ptr + tile)
        else:  # one 64-bit number moves, the tile of 32-bit offsets stays
            tile = tl.arange(0, BLOCK_K)[:, None] * row + d[None, :]
            base = start.to(tl.int64) * row
            k, v = tl.load(k_ptr + base + tile), tl.load(v_ptr + base + tile)
        m_i, l_i, acc = _add_tile(q, k, v, m_i, l_i, acc, columns, rows, alpha, BASE2, MASKED)
    return m_i, l_i, acc


@triton.jit
def _block(
    qd, kd, vd, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, bh, block, S, row,
    WIDE: tl.constexpr, BASE2: tl.constexpr, SPLIT: tl.constexpr, DESCRIBED: tl.constexpr,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    first = block * BLOCK_Q
    rows, d = first + tl.arange(0, BLOCK_Q), tl.arange(0, D)
    head = bh.to(tl.int64) * S * D
    block_tile = rows.to(tl.int64)[:, None] * D + d[None, :]
    if DESCRIBED:
        q = qd.load([bh, first, 0]).reshape(BLOCK_Q, D)
    else:
        q = tl.load(q_ptr + head + block_tile)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, D), tl.float32)
    whole, end = 0, S
    if IS_CAUSAL:
        end = first + BLOCK_Q
    if SPLIT:
        whole = (first + 1) // BLOCK_K * BLOCK_K if IS_CAUSAL else S
        m_i, l_i, acc = _tiles(
            q, kd, vd, k_ptr + head, v_ptr + head, m_i, l_i, acc, bh, 0, whole, rows, alpha, row,
            WIDE, BASE2, False, DESCRIBED, BLOCK_K, D,
        )  # fmt: skip
    if not SPLIT or IS_CAUSAL:
        m_i, l_i, acc = _tiles(
            q, kd, vd, k_ptr + head, v_ptr + head, m_i, l_i, acc, bh, whole, end,
            rows if IS_CAUSAL else rows * 0 + S - 1, alpha, row,
            WIDE, BASE2, True, DESCRIBED, BLOCK_K, D,
        )  # fmt: skip
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    if DESCRIBED:
        od.store([bh, first, 0], o.reshape(1, BLOCK_Q, D))
    else:
        tl.store(o_ptr + head + block_tile, o)
    top = m_i * alpha if BASE2 else m_i
    tl.store(lse_ptr + bh.to(tl.int64) * S + rows, top + tl.log(l_i))


@triton.jit
def rung_kernel(
    qd, kd, vd, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, BH, S, row,
    WIDE: tl.constexpr, BASE2: tl.constexpr, SPLIT: tl.constexpr, DESCRIBED: tl.constexpr,
    HEAVY_FIRST: tl.constexpr, PERSISTENT: tl.constexpr, IS_CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    blocks = S // BLOCK_Q
    last = blocks * BH if PERSISTENT else tl.program_id(0) + 1
    for number in range(tl.program_id(0), last, tl.num_programs(0)):
        block, bh = number % blocks, number // blocks
        if HEAVY_FIRST:
            block, bh = blocks - 1 - number // BH, number % BH
        _block(
            qd, kd, vd, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, bh, block, S, row,
            WIDE, BASE2, SPLIT, DESCRIBED, IS_CAUSAL, BLOCK_Q, BLOCK_K, D,
        )  # fmt: skip


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: its name, what it changes, and the factor that is expected of it, and why."""

    name: str
    what: str
    predicted: str
    wide: bool = True
    base2: bool = False
    split: bool = False
    described: bool = False
    heavy_first: bool = False
    persistent: bool = False
    block_q: int = 64
    block_k: int = 64
    warps: int = 4
    stages: int = 3


def _rungs() -> tuple[Rung, ...]:
    rungs = [Rung("plain", "lesson 06's loop: tiles of 64-bit offsets, exp, a mask in every tile", "1")]
    for name, what, predicted, change in (
        ("narrow offsets", "a 64-bit base, and tiles of 32 bits", "1.1", {"wide": False}),
        ("powers of two", "exp2, with alpha log2 e folded in", "1.1", {"base2": True}),
        ("two loops", "whole tiles without a mask", "1.0 full, 1.1 causal", {"split": True}),
        ("descriptors", "K and V through TMA", "1.1", {"described": True}),
        (
            "block shape", "128 queries, 128 keys, 8 warps, 2 stages", "1.3",
            {"block_q": 128, "block_k": 128, "warps": 8, "stages": 2},
        ),
        ("heavy first", "the longest loops begin first", "1.0 full, 1.1 causal", {"heavy_first": True}),
        ("persistent", "132 programs that take block after block", "1.0", {"persistent": True}),
    ):  # fmt: skip
        rungs.append(replace(rungs[-1], name=name, what=what, predicted=predicted, **change))
    return tuple(rungs)


RUNGS = _rungs()
"""From the plain kernel upwards; each keeps what the rungs below it changed."""


def forward(rung: Rung) -> Callable[..., tuple[Tensor, Tensor]]:
    """The launcher (q, k, v, causal, alpha) → (o, lse) of a rung."""

    def launcher(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
        B, H, S, D = q.shape
        o = torch.empty_like(q)
        lse = torch.empty((B, H, S), dtype=torch.float32, device=q.device)
        launch(rung, (q, k, v, o), lse, causal, alpha)
        return o, lse

    return launcher


def launch(rung: Rung, tensors: tuple[Tensor, ...], lse: Tensor, causal: bool, alpha: float) -> None:
    """One launch of the rung's kernel into the last of `tensors`, which are q, k, v, o."""
    B, H, S, D = tensors[0].shape
    blocks = (rung.block_q, rung.block_k, rung.block_k, rung.block_q)
    described: list[Any] = [None] * 4
    if rung.described:
        described = [
            TensorDescriptor.from_tensor(t.view(B * H, S, D), [1, block, D])
            for t, block in zip(tensors, blocks, strict=True)
        ]
    programs = S // rung.block_q * B * H
    if rung.persistent:
        programs = min(programs, device.GPUS["H100"].sms)
    rung_kernel[(programs,)](
        *described, *tensors, lse, alpha, B * H, S, tensors[1].stride(2), WIDE=rung.wide, BASE2=rung.base2, SPLIT=rung.split,
        DESCRIBED=rung.described, HEAVY_FIRST=rung.heavy_first, PERSISTENT=rung.persistent, IS_CAUSAL=causal,
        BLOCK_Q=rung.block_q, BLOCK_K=rung.block_k, D=D, num_warps=rung.warps, num_stages=rung.stages,
    )  # fmt: skip
