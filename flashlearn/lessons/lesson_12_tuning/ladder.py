"""The forward pass in eight rungs, each a change further than the one below: lesson 12 counts and times them.

    >>> o, lse = forward(RUNGS[3])(q, k, v, True, 0.125)

For experiments only: q, k and v are contiguous [B, H, S, D] of one shape, S is a multiple of the blocks and
D a power of two, so that no line speaks of anything but its rung.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.shapes import Shape, forward_shape
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.machine import device

PLAIN = Shape(64, 64, 4, 3)
"""How the kernel is cut before any search for a better shape."""


@triton.jit
def _weights(q, k, m_i, columns, rows, alpha, BASE2: tl.constexpr, MASKED: tl.constexpr):
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
    return m_new, rescale, p


@triton.jit
def _tiles(
    q, kd, vd, k_ptr, v_ptr, m_i, l_i, acc, bh, first_key, end, rows, alpha, row,
    WIDE: tl.constexpr, BASE2: tl.constexpr, MASKED: tl.constexpr, DESCRIBED: tl.constexpr,
    BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, D)
    for start in range(first_key, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        tile = tl.arange(0, BLOCK_K)[:, None] * row + d[None, :]
        base = start.to(tl.int64) * row  # one 64-bit number moves, the tile of 32-bit offsets stays
        if WIDE:  # a tile of 64-bit offsets, made anew in each step
            tile = columns.to(tl.int64)[:, None] * row + d[None, :]
            base = 0
        if DESCRIBED:  # noqa: SIM108
            k = kd.load([bh, start, 0]).reshape(BLOCK_K, D)
        else:
            k = tl.load(k_ptr + base + tile)
        m_i, rescale, p = _weights(q, k, m_i, columns, rows, alpha, BASE2, MASKED)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        if DESCRIBED:  # noqa: SIM108  only now: in a single stage K's place is free again
            v = vd.load([bh, start, 0]).reshape(BLOCK_K, D)
        else:
            v = tl.load(v_ptr + base + tile)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
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
    if DESCRIBED:  # noqa: SIM108
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
    """One step of the ladder: its name, what it changes, and the factor that is expected of it beforehand.

    `shape` is how the kernel is cut; None stands for what the package takes.
    """

    name: str
    what: str
    predicted: str
    wide: bool = True
    base2: bool = False
    split: bool = False
    described: bool = False
    heavy_first: bool = False
    persistent: bool = False
    shape: Shape | None = PLAIN


def _rungs() -> tuple[Rung, ...]:
    rungs = [Rung("plain", "tiles of 64-bit offsets, exp, a mask in every tile", "1")]
    for name, what, predicted, change in (
        ("narrow offsets", "a 64-bit base, and tiles of 32 bits", "1.1", {"wide": False}),
        ("powers of two", "exp2, with alpha log2 e folded in", "1.1", {"base2": True}),
        ("two loops", "whole tiles without a mask", "1.0 full, 1.1 causal", {"split": True}),
        ("descriptors", "K and V through the copy engine", "1.1", {"described": True}),
        (
            "block shape",
            "128 keys at a time, and several programs to a multiprocessor",
            "1.2",
            {"shape": None},
        ),
        ("heavy first", "the longest loops begin first", "1.0 full, 1.1 causal", {"heavy_first": True}),
        ("persistent", "as many programs as multiprocessors, block after block", "1.0", {"persistent": True}),
    ):
        rungs.append(replace(rungs[-1], name=name, what=what, predicted=predicted, **change))
    return tuple(rungs)


RUNGS = _rungs()
"""The forward pass from the plain kernel upwards; each keeps what the rungs below it changed."""
BACKWARD = (
    ("two plain kernels", "lessons 07 and 08", "1"),
    ("tuned, plain shapes", "keys first, powers of two, two loops, descriptors; 64 × 64, 3 stages", "1.3"),
    ("tuned", "blocks and stages so that two programs fit into a multiprocessor", "1.3"),
)
"""The backward pass: name, what changes, the factor expected."""


def forward(rung: Rung) -> Callable[..., tuple[Tensor, Tensor]]:
    """The launcher (q, k, v, causal, alpha) → (o, lse) of a rung."""

    def launcher(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
        B, H, S, _ = q.shape
        o = torch.empty_like(q)
        lse = torch.empty((B, H, S), dtype=torch.float32, device=q.device)
        launch(rung, (q, k, v, o), lse, causal, alpha)
        return o, lse

    return launcher


def launch(rung: Rung, tensors: tuple[Tensor, ...], lse: Tensor, causal: bool, alpha: float) -> None:
    """One launch of the rung's kernel into the last of `tensors`, which are q, k, v, o."""
    q = tensors[0]
    B, H, S, D = q.shape
    cut = rung.shape or forward_shape(q, causal)
    described: list[Any] = [None] * 4
    if rung.described:
        blocks = (cut.block_q, cut.block_k, cut.block_k, cut.block_q)
        described = [
            TensorDescriptor.from_tensor(t.view(B * H, S, D), [1, block, D])
            for t, block in zip(tensors, blocks, strict=True)
        ]
    programs = S // cut.block_q * B * H
    if rung.persistent:
        programs = min(programs, device.GPUS["H100"].sms)
    rung_kernel[(programs,)](
        *described, *tensors, lse, alpha, B * H, S, q.stride(2),
        WIDE=rung.wide, BASE2=rung.base2, SPLIT=rung.split, DESCRIBED=rung.described,
        HEAVY_FIRST=rung.heavy_first, PERSISTENT=rung.persistent, IS_CAUSAL=causal,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, D=D, **cut.options,
    )  # fmt: skip


def forward_calls(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> dict[str, Callable[[], Any]]:
    """Each rung's call by its name."""
    alpha = q.shape[-1] ** -0.5
    return {rung.name: functools.partial(forward(rung), q, k, v, causal, alpha) for rung in RUNGS}


def backward_calls(q: Tensor, k: Tensor, v: Tensor, do: Tensor, causal: bool) -> dict[str, Callable[[], Any]]:
    """Three backward passes by their rung's name; o and lse are computed beforehand."""
    alpha = q.shape[-1] ** -0.5
    o, lse = tuned_forward(q, k, v, causal, alpha)
    to_dq, to_dkv = (dq_kernel_causal, dkv_kernel_causal) if causal else (dq_kernel, dkv_kernel)

    def plain() -> tuple[Tensor, ...]:
        return to_dq(q, k, v, o, do, lse, alpha), *to_dkv(q, k, v, o, do, lse, alpha)

    given = (q, k, v, o, do, lse, causal, alpha)
    cut = functools.partial(tuned_backward, *given, shapes=(PLAIN, PLAIN))
    calls = (plain, cut, functools.partial(tuned_backward, *given))
    return {name: call for (name, *_), call in zip(BACKWARD, calls, strict=True)}
