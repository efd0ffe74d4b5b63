"""The ladder of lesson 12: one forward kernel whose improvements can be switched on one after the other.

    >>> [rung.name for rung in FORWARD][:2]
    ['as first written', 'tiles of 32-bit offsets']
    >>> o = attend(FORWARD[0], q, k, v, causal=True)         # right on every rung; on a CPU it is observed

`climb` times the rungs on a GPU, in turns; the ladder of an H200 is kept beside this file. Sources of the
single steps stand in the lesson.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.described import described, heads_together
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import Shape, forward_shape, tuned_forward

__all__ = ["BACKWARD", "FORWARD", "Rung", "attend", "backward_calls", "forward_calls"]

PLAIN = Shape(64, 64, 4, 3)


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: what changes, and by which factor it was expected to pay, before it was timed.

    `switches` are those of `rung_kernel` that differ from its predecessor's; `shape` is None where the
    package's choice for the problem is taken.
    """

    name: str
    what: str
    predicted: float
    switches: dict[str, bool] = field(default_factory=dict)
    shape: Shape | None = PLAIN


START = {"WIDE": True, "BASE_2": False, "SPLIT": False, "DESCRIBED": False, "HEAVY_FIRST": False}


def _ladder(*steps: Rung) -> tuple[Rung, ...]:
    """Each rung with all the switches that were thrown before it."""
    thrown, rungs = dict(START), []
    for step in steps:
        thrown = {**thrown, **step.switches}
        rungs.append(Rung(step.name, step.what, step.predicted, thrown, step.shape))
    return tuple(rungs)


FORWARD = _ladder(
    Rung("as first written", "lesson 06, with offsets of 64 bits in every tile", 1.0),
    Rung("tiles of 32-bit offsets", "64 bits for the head's first element only", 1.1, {"WIDE": False}),
    Rung("powers of two", "alpha · log₂e folded into one multiply-add", 1.1, {"BASE_2": True}),
    Rung("split loops", "masks only where a tile needs one", 1.1, {"SPLIT": True}),
    Rung("descriptors", "blocks fetched by the copy engine", 1.1, {"DESCRIBED": True}),
    Rung("block shapes", "three programs to a multiprocessor", 1.15, shape=None),
    Rung("heavy first", "longest blocks first, heads side by side", 1.05, {"HEAVY_FIRST": True}, shape=None),
)


@triton.jit
def _tile(source, base, b, h, start, S, D, rows, d, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
          DESCRIBED: tl.constexpr):  # fmt: skip
    if DESCRIBED:
        return source.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D)
    inside = (rows < S)[:, None] & (d < D)[None, :]
    return tl.load(source + base + rows[:, None] * D + d[None, :], mask=inside, other=0.0)


@triton.jit
def _scan(q, k_source, v_source, base, m_i, l_i, acc, alpha, b, h, first, end, rows, S, D,
          MASKED: tl.constexpr, CAUSAL: tl.constexpr, BASE_2: tl.constexpr, DESCRIBED: tl.constexpr,
          WIDE: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr):  # fmt: skip
    d = tl.arange(0, BLOCK_D)
    for start in tl.range(first, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        if WIDE:
            columns = columns.to(tl.int64)
        k = _tile(k_source, base, b, h, start, S, D, columns, d, BLOCK_K, BLOCK_D, DESCRIBED)
        v = _tile(v_source, base, b, h, start, S, D, columns, d, BLOCK_K, BLOCK_D, DESCRIBED)
        scale = alpha * 1.4426950408889634 if BASE_2 else alpha
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        if MASKED:
            seen = (columns < S)[None, :]
            if CAUSAL:
                seen = seen & (columns[None, :] <= rows[:, None])
            s = tl.where(seen, s * scale, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            s = s - m_new[:, None]
        else:
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * scale)  # the ladder's alpha is positive
            s = s * scale - m_new[:, None]
        if BASE_2:
            p = tl.exp2(s)
            rescale = tl.exp2(m_i - m_new)
        else:
            p = tl.exp(s)
            rescale = tl.exp(m_i - m_new)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    return m_i, l_i, acc


@triton.jit(do_not_specialize=["GROUP", "TILES"])
def rung_kernel(q_source, k_source, v_source, o_ptr, alpha, H, S, D, GROUP, TILES,
                CAUSAL: tl.constexpr, WIDE: tl.constexpr, BASE_2: tl.constexpr, SPLIT: tl.constexpr,
                DESCRIBED: tl.constexpr, HEAVY_FIRST: tl.constexpr,
                BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr):  # fmt: skip
    # q, k, v and o are dense, [B, H, S, D]; GROUP is 1 without HEAVY_FIRST
    pid = tl.program_id(0)
    bh = pid // (GROUP * TILES) * GROUP + pid % (GROUP * TILES) % GROUP
    block = pid % (GROUP * TILES) // GROUP
    if CAUSAL and HEAVY_FIRST:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    base = bh.to(tl.int64) * S * D
    rows = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    if WIDE:
        rows = rows.to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    q = _tile(q_source, base, b, h, block * BLOCK_Q, S, D, rows, d, BLOCK_Q, BLOCK_D, DESCRIBED)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S
    if CAUSAL:
        end = tl.minimum(S, (block + 1) * BLOCK_Q)
    unmasked = 0
    if SPLIT:
        unmasked = S // BLOCK_K * BLOCK_K
        if CAUSAL:
            unmasked = (block * BLOCK_Q + 1) // BLOCK_K * BLOCK_K
        m_i, l_i, acc = _scan(
            q, k_source, v_source, base, m_i, l_i, acc, alpha, b, h, 0, unmasked, rows, S, D,
            False, CAUSAL, BASE_2, DESCRIBED, WIDE, BLOCK_K, BLOCK_D,
        )  # fmt: skip
    m_i, l_i, acc = _scan(
        q, k_source, v_source, base, m_i, l_i, acc, alpha, b, h, unmasked, end, rows, S, D,
        True, CAUSAL, BASE_2, DESCRIBED, WIDE, BLOCK_K, BLOCK_D,
    )  # fmt: skip
    inside = (rows < S)[:, None] & (d < D)[None, :]
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], o, mask=inside)


def attend(rung: Rung, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """O [B, H, S, D] of dense q, k and v, by the kernel as it stands on this rung; alpha is 1/√D."""
    B, H, S, D = q.shape
    cut = rung.shape or forward_shape(q)
    tiles = triton.cdiv(S, cut.block_q)
    grouped = rung.switches["HEAVY_FIRST"]
    group = heads_together(B * H, tiles, 2 * S * D * k.element_size(), causal) if grouped else 1
    o = torch.empty_like(q)
    sources: tuple[Any, ...] = (q, k, v)
    if rung.switches["DESCRIBED"]:
        sources = (described(q, cut.block_q), described(k, cut.block_k), described(v, cut.block_k))
    rung_kernel[(tiles * B * H,)](
        *sources, o, 1 / math.sqrt(D), H, S, D, group, tiles, CAUSAL=causal, **rung.switches,
        BLOCK_Q=cut.block_q, BLOCK_K=cut.block_k, BLOCK_D=triton.next_power_of_2(D), **cut.options,
    )  # fmt: skip
    return o


def forward_calls(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> dict[str, Any]:
    """Each rung's call by its name, and last the package's kernel."""
    calls: dict[str, Any] = {rung.name: (lambda rung=rung: attend(rung, q, k, v, causal)) for rung in FORWARD}
    return {**calls, "tuned_forward": lambda: tuned_forward(q, k, v, causal)}


BACKWARD = (
    Rung("two plain kernels", "lessons 07 and 08", 1.0),
    Rung("tuned, plain shapes", "K Qᵀ, powers of two, split loops, descriptors; three stages", 1.3),
    Rung("tuned", "stages and blocks so that two programs fit", 1.3),
)


def backward_calls(q: Tensor, k: Tensor, v: Tensor, do: Tensor, causal: bool) -> dict[str, Any]:
    """The three backward passes by their rung's name; o and lse are computed beforehand."""
    o, lse = tuned_forward(q, k, v, causal)
    alpha = 1 / math.sqrt(q.shape[-1])

    def plain() -> tuple[Tensor, ...]:
        own = (dq_kernel_causal if causal else dq_kernel)(q, k, v, o, do, lse, alpha)
        return own, *(dkv_kernel_causal if causal else dkv_kernel)(q, k, v, o, do, lse, alpha)

    plain_shapes = (PLAIN, PLAIN)
    return {
        BACKWARD[0].name: plain,
        BACKWARD[1].name: lambda: tuned_backward(q, k, v, o, do, lse, causal, shapes=plain_shapes),
        BACKWARD[2].name: lambda: tuned_backward(q, k, v, o, do, lse, causal),
    }
