"""Problems that are over in microseconds: lessons 06 to 08's kernels, launched without asking Triton again.

Building tensor descriptors and finding the compiled kernel takes Python longer than such a problem takes the
GPU. So a launch whose tensors have the same shapes, strides and dtypes as one before goes straight to the
kernel that was compiled then. Triton's own search runs wherever launches are observed or recorded.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from flashlearn.kernels.delta import delta_preprocess_kernel
from flashlearn.kernels.flash_backward_dkv import flash_dkv_causal_kernel, flash_dkv_kernel
from flashlearn.kernels.flash_backward_dq import flash_dq_causal_kernel, flash_dq_kernel
from flashlearn.kernels.flash_forward import flash_forward_causal_kernel, flash_forward_kernel

__all__ = ["is_short", "short_backward", "short_forward"]

OVER_SOON = 1e10
"""Operations of 2·S_q·S_k·D that a GPU is done with before Python has built a few descriptors."""
MOST_KEPT = 256
ALIGNED = 16


@dataclass(frozen=True)
class Ready:
    """A kernel that is compiled, its grid, and its arguments after the tensors."""

    compiled: CompiledKernel
    grid: tuple[int, int, int]
    rest: tuple[Any, ...]


_ready: dict[Hashable, Ready] = {}


def is_short(q: Tensor, k: Tensor) -> bool:
    """Whether attention of q and k is so short; these kernels know no grouped queries."""
    B, H, S_q, D = q.shape
    return q.is_cuda and k.shape[1] == H and 4.0 * B * H * S_q * k.shape[2] * D < OVER_SOON


def short_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE as `flash_forward` returns them."""
    B, H, S_q, D = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    tensors = (q, k, v, o, lse)
    key = ("forward", causal, alpha, q.dtype, q.device, q.shape, k.shape, q.stride(), k.stride(), v.stride())
    if not _again(key, tensors):
        block, constants = _constants(q)
        strides = (*q.stride(), *k.stride(), *v.stride(), *o.stride())
        _launch(
            key,
            flash_forward_causal_kernel if causal else flash_forward_kernel,
            (triton.cdiv(S_q, block), H, B),
            tensors,
            (alpha, H, S_q, k.shape[2], D, *strides),
            constants,
            num_stages=3,
        )
    return o, lse


def short_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV as `dq_kernel` and `dkv_kernel` return them, with one delta for both."""
    lse = lse.contiguous()
    delta = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    kind = (causal, alpha, q.dtype, q.device, q.shape, k.shape)
    read = (q, k, v, do, lse, delta)
    strides = (*q.stride(), *k.stride(), *v.stride(), *do.stride())
    launches = (
        (("delta", *kind, o.stride(), do.stride()), (o, do, delta), _delta),
        (("dkv", *kind, *strides), (*read, dk, dv), _dkv),
        (("dq", *kind, *strides), (*read, dq), _dq),
    )
    for key, tensors, launch in launches:
        if not _again(key, tensors):
            launch(key, tensors, causal, alpha)
    return dq, dk, dv


def _delta(key: Hashable, tensors: tuple[Tensor, ...], causal: bool, alpha: float) -> None:
    o, do, _ = tensors
    B, H, S, D = o.shape
    rows = {"BLOCK_S": 32, "BLOCK_D": triton.next_power_of_2(D)}
    numbers = (H, S, D, *o.stride(), *do.stride())
    _launch(key, delta_preprocess_kernel, (triton.cdiv(S, 32), H, B), tensors, numbers, rows, num_stages=3)


def _dkv(key: Hashable, tensors: tuple[Tensor, ...], causal: bool, alpha: float) -> None:
    kernel = flash_dkv_causal_kernel if causal else flash_dkv_kernel
    _backward(key, kernel, tensors, alpha, owned=tensors[1].shape[2])


def _dq(key: Hashable, tensors: tuple[Tensor, ...], causal: bool, alpha: float) -> None:
    kernel = flash_dq_causal_kernel if causal else flash_dq_kernel
    _backward(key, kernel, tensors, alpha, owned=tensors[0].shape[2])


def _backward(
    key: Hashable, kernel: JITFunction, tensors: tuple[Tensor, ...], alpha: float, owned: int
) -> None:
    q, k, v, do, _, _, *written = tensors
    B, H, S_q, D = q.shape
    block, constants = _constants(q)
    strides = (stride for t in (q, k, v, do, *written) for stride in t.stride())
    numbers = (alpha, H, S_q, k.shape[2], D, *strides)
    _launch(key, kernel, (triton.cdiv(owned, block), H, B), tensors, numbers, constants, num_stages=2)


def _constants(q: Tensor) -> tuple[int, dict[str, int]]:
    block = 64 if q.element_size() == 2 else 32
    return block, {
        "BLOCK_Q": block,
        "BLOCK_K": block,
        "BLOCK_D": max(16, triton.next_power_of_2(q.shape[3])),
    }


def _again(key: Hashable, tensors: tuple[Tensor, ...]) -> bool:
    """Launch what was compiled for this key before, if there is such a thing, and nobody looks on."""
    ready = _ready.get(key)
    if ready is None or JITFunction.run.__module__ != JITFunction.__module__:
        return False
    if any(t.data_ptr() % ALIGNED for t in tensors):  # it was compiled for tensors that begin evenly
        return False
    ready.compiled[ready.grid](*tensors, *ready.rest)
    return True


def _launch(
    key: Hashable,
    kernel: JITFunction,
    grid: tuple[int, int, int],
    tensors: tuple[Tensor, ...],
    numbers: tuple[Any, ...],
    constants: dict[str, int],
    num_stages: int,
) -> None:
    """Launch as anybody does, and keep what Triton compiled."""
    made = kernel[grid](*tensors, *numbers, **constants, num_stages=num_stages)
    aligned = not any(t.data_ptr() % ALIGNED for t in tensors)
    if aligned and isinstance(made, CompiledKernel):
        if len(_ready) >= MOST_KEPT:
            _ready.clear()
        _ready[key] = Ready(made, grid, (*numbers, *constants.values()))
