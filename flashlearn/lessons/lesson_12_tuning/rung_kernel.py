"""One kernel for all rungs of the ladder: lesson 06's forward pass, and each change as a constant of it.

    >>> o, lse = forward(Variant(fold=True))(q, k, v, True, 0.125)

For experiments only: q, k and v are contiguous [B, H, S, D] of one shape, S is a multiple of the blocks, D a
power of two, and alpha above 0, so that no line is about anything but a rung.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.kernels.described import heads_together
from flashlearn.kernels.shapes import Shape
from flashlearn.machine import device

PLAIN = Shape(64, 64, 4, 3)
"""How lesson 06's kernel is cut on a GPU: its own blocks, and Triton's default of 4 warps and 3 stages."""
PER_SM = 3
"""Persistent programs on a multiprocessor: as many as the rungs before leave room for."""
HEAD_BY_HEAD, HEAVY_FIRST, IN_GROUPS = 0, 1, 2
"""Orders of the programs."""


@dataclass(frozen=True)
class Variant:
    """What the kernel does: by default what lesson 06's does.

    `edge` are the keys of a masked tile, with 0 as many as of the others; `late_v` loads V only after the
    exponentials; `store` stores O through a descriptor.
    """

    fold: bool = False
    split: bool = False
    described: bool = False
    store: bool = False
    late_v: bool = False
    order: int = HEAD_BY_HEAD
    edge: int = 0
    persistent: bool = False
    shape: Shape = PLAIN


@triton.jit
def _softmax_step(
    q, k, m_i, columns, rows, S, alpha, FOLD: tl.constexpr, MASKED: tl.constexpr, IS_CAUSAL: tl.constexpr
):  # fmt: skip
    LOG2E: tl.constexpr = 1.4426950408889634
    s = tl.dot(q, tl.trans(k))
    seen = (columns < S)[None, :]
    if IS_CAUSAL:
        seen = seen & (columns[None, :] <= rows[:, None])
    if FOLD:  # m_i is in units of base 2
        c = alpha * LOG2E
        if MASKED:
            s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1) * c)
        rescale = tl.exp2(m_i - m_new)
        p = tl.exp2(s * c - m_new[:, None])
    else:
        s = alpha * s
        if MASKED:
            s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp2((s - m_new[:, None]) * LOG2E)
    return m_new, rescale, p


@triton.jit
def _tile(
    desc, ptr, bh, start, columns, S, MASKED: tl.constexpr, DESCRIBED: tl.constexpr, BLOCK_K: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    if DESCRIBED:
        tile = desc.load([bh, start, 0]).reshape(BLOCK_K, D)
    else:
        at = ptr + columns[:, None] * D + tl.arange(0, D)[None, :]  # 32 bits, from the head's first element
        if MASKED:  # noqa: SIM108
            tile = tl.load(at, mask=(columns < S)[:, None], other=0.0)
        else:
            tile = tl.load(at)
    return tile


@triton.jit
def _scan(
    q, kd, vd, k_ptr, v_ptr, m_i, l_i, acc, bh, first_key, end, rows, S, alpha, FOLD: tl.constexpr,
    MASKED: tl.constexpr, IS_CAUSAL: tl.constexpr, DESCRIBED: tl.constexpr, LATE_V: tl.constexpr,
    BLOCK_K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    for start in range(first_key, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        k = _tile(kd, k_ptr, bh, start, columns, S, MASKED, DESCRIBED, BLOCK_K, D)
        if not LATE_V:
            v = _tile(vd, v_ptr, bh, start, columns, S, MASKED, DESCRIBED, BLOCK_K, D)
        m_i, rescale, p = _softmax_step(q, k, m_i, columns, rows, S, alpha, FOLD, MASKED, IS_CAUSAL)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        if LATE_V:
            v = _tile(vd, v_ptr, bh, start, columns, S, MASKED, DESCRIBED, BLOCK_K, D)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None])
    return m_i, l_i, acc


@triton.jit
def _block(
    qd, kd, vd, ke, ve, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, bh, block, S, FOLD: tl.constexpr,
    SPLIT: tl.constexpr, DESCRIBED: tl.constexpr, STORE: tl.constexpr, LATE_V: tl.constexpr,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, EDGE: tl.constexpr,
    D: tl.constexpr,
):  # fmt: skip
    first = block * BLOCK_Q
    rows, d = first + tl.arange(0, BLOCK_Q), tl.arange(0, D)
    head = bh.to(tl.int64) * S * D  # 64 bits to where the head begins, 32 from there on
    if DESCRIBED:
        q = qd.load([bh, first, 0]).reshape(BLOCK_Q, D)
    else:
        q = tl.load(q_ptr + head + rows[:, None] * D + d[None, :])
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, D), tl.float32)
    whole, end = 0, S
    if IS_CAUSAL:
        end = first + BLOCK_Q
    if SPLIT:
        whole = (first + 1) // BLOCK_K * BLOCK_K if IS_CAUSAL else S
        m_i, l_i, acc = _scan(
            q, kd, vd, k_ptr + head, v_ptr + head, m_i, l_i, acc, bh, 0, whole, rows, S, alpha,
            FOLD, False, IS_CAUSAL, DESCRIBED, LATE_V, BLOCK_K, D,
        )  # fmt: skip
    if not SPLIT or IS_CAUSAL:
        m_i, l_i, acc = _scan(
            q, ke, ve, k_ptr + head, v_ptr + head, m_i, l_i, acc, bh, whole, end, rows, S, alpha,
            FOLD, True, IS_CAUSAL, DESCRIBED, LATE_V, EDGE, D,
        )  # fmt: skip
    o = (acc / l_i[:, None]).to(o_ptr.dtype.element_ty)
    if STORE:
        od.store([bh, first, 0], o.reshape(1, BLOCK_Q, D))
    else:
        tl.store(o_ptr + head + rows[:, None] * D + d[None, :], o)
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453 if FOLD else m_i + tl.log(l_i)
    tl.store(lse_ptr + bh.to(tl.int64) * S + rows, lse)


@triton.jit(do_not_specialize=["GROUP", "PROGRAMS"])
def rung_kernel(
    qd, kd, vd, ke, ve, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, BH, S, GROUP, PROGRAMS,
    FOLD: tl.constexpr, SPLIT: tl.constexpr, DESCRIBED: tl.constexpr, STORE: tl.constexpr,
    LATE_V: tl.constexpr, ORDER: tl.constexpr, PERSISTENT: tl.constexpr, IS_CAUSAL: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, EDGE: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    blocks = S // BLOCK_Q
    if PERSISTENT:  # one program after the other, from here on inside the kernel
        for number in range(tl.program_id(0), blocks * BH, PROGRAMS):
            bh, block = _place(number, blocks, BH, GROUP, ORDER, IS_CAUSAL)
            _block(
                qd, kd, vd, ke, ve, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, bh, block, S,
                FOLD, SPLIT, DESCRIBED, STORE, LATE_V, IS_CAUSAL, BLOCK_Q, BLOCK_K, EDGE, D,
            )  # fmt: skip
    else:
        bh, block = _place(tl.program_id(0), blocks, BH, GROUP, ORDER, IS_CAUSAL)
        _block(
            qd, kd, vd, ke, ve, od, q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, bh, block, S,
            FOLD, SPLIT, DESCRIBED, STORE, LATE_V, IS_CAUSAL, BLOCK_Q, BLOCK_K, EDGE, D,
        )  # fmt: skip


@triton.jit
def _place(number, blocks, BH, GROUP, ORDER: tl.constexpr, IS_CAUSAL: tl.constexpr):
    if ORDER == 0:
        bh, block = number // blocks, number % blocks
    elif ORDER == 1:
        bh, block = number % BH, blocks - 1 - number // BH
    else:
        in_group = number % (GROUP * blocks)
        bh = number // (GROUP * blocks) * GROUP + in_group % GROUP
        block = in_group // GROUP
        if IS_CAUSAL:
            block = blocks - 1 - block
    return bh, block


Launcher = Callable[[Tensor, Tensor, Tensor, bool, float], tuple[Tensor, Tensor]]


def forward(variant: Variant) -> Launcher:
    """The launcher (q, k, v, causal, alpha) → (o, lse) of a variant."""
    return lambda q, k, v, causal, alpha: prepared(variant, q, k, v, causal, alpha)()


def prepared(
    variant: Variant, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float
) -> Callable[[], tuple[Tensor, Tensor]]:
    """A call that only launches the kernel: outputs and descriptors are made here, once."""
    B, H, S, D = q.shape
    cut = variant.shape
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    blocks, edge = S // cut.block_q, min(variant.edge or cut.block_k, cut.block_k)
    programs = blocks * B * H
    if variant.persistent:
        programs = min(programs, PER_SM * _multiprocessors(q))
    arguments = (
        *descriptors(variant, (q, k, v, o), cut.block_q, cut.block_k, edge), q, k, v, o, lse, alpha, B * H, S,
        heads_together(B * H, blocks, 2 * S * D * q.element_size(), causal), programs,
    )  # fmt: skip
    sizes = {"BLOCK_Q": cut.block_q, "BLOCK_K": cut.block_k, "EDGE": edge, "D": D}
    named = constants(variant) | sizes | cut.options | {"IS_CAUSAL": causal}

    def call() -> tuple[Tensor, Tensor]:
        rung_kernel[(programs,)](*arguments, **named)
        return o, lse

    return call


def _multiprocessors(t: Tensor) -> int:
    if t.is_cuda:
        return torch.cuda.get_device_properties(t.device).multi_processor_count
    return device.GPUS["H100"].sms


def constants(variant: Variant) -> dict[str, Any]:
    """The kernel's constants that are switches."""
    return {
        "FOLD": variant.fold,
        "SPLIT": variant.split,
        "DESCRIBED": variant.described,
        "STORE": variant.store,
        "LATE_V": variant.late_v,
        "ORDER": variant.order,
        "PERSISTENT": variant.persistent,
    }


def descriptors(
    variant: Variant, tensors: tuple[Tensor, ...], block_q: int, block_k: int, edge: int
) -> list[TensorDescriptor | None]:
    """Those of Q, K, V, of K and V in masked tiles, and of O; None where pointers are used."""
    q, k, v, o = (t.view(-1, *t.shape[2:]) for t in tensors)
    wanted = [(q, block_q), (k, block_k), (v, block_k), (k, edge), (v, edge)]
    made = [_described(*one) if variant.described else None for one in wanted]
    return [*made, _described(o, block_q) if variant.store else None]


def _described(rows: Tensor, block: int) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(rows, [1, block, rows.shape[2]])
