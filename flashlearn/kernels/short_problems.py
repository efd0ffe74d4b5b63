"""Problems that are over in microseconds: lessons 06 to 08's kernels, launched without asking Triton again.

Building tensor descriptors and finding the compiled kernel takes Python longer than such a problem takes the
GPU. So a launch whose tensors have the same shapes, strides and dtypes as one before goes straight to the
kernel that was compiled then. Triton's own search runs wherever launches are observed or recorded.
"""

from __future__ import annotations

from collections.abc import Hashable
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
_compiled: dict[Hashable, CompiledKernel] = {}


def is_short(q: Tensor, k: Tensor) -> bool:
    """Whether attention of q and k is so short; these kernels know no grouped queries."""
    B, H, S_q, D = q.shape
    return q.is_cuda and k.shape[1] == H and 4.0 * B * H * S_q * k.shape[2] * D < OVER_SOON


def short_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE as `flash_forward` returns them."""
    B, H, S_q, D = q.shape
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    block, constants = _constants(q)
    _launch(
        flash_forward_causal_kernel if causal else flash_forward_kernel,
        (triton.cdiv(S_q, block), H, B),
        (q, k, v, o, lse),
        (alpha, H, S_q, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(), *o.stride()),
        constants,
        num_stages=3,
    )
    return o, lse


def short_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV as `dq_kernel` and `dkv_kernel` return them, with one delta for both."""
    B, H, S_q, D = q.shape
    S_k, lse = k.shape[2], lse.contiguous()
    delta = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    rows = {"BLOCK_S": 32, "BLOCK_D": triton.next_power_of_2(D)}
    sizes = (H, S_q, D, *o.stride(), *do.stride())
    _launch(delta_preprocess_kernel, (triton.cdiv(S_q, 32), H, B), (o, do, delta), sizes, rows, num_stages=3)
    block, constants = _constants(q)
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    read = (alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *do.stride())
    to_dkv = flash_dkv_causal_kernel if causal else flash_dkv_kernel
    to_dq = flash_dq_causal_kernel if causal else flash_dq_kernel
    for kernel, keys_or_queries, written in ((to_dkv, S_k, (dk, dv)), (to_dq, S_q, (dq,))):
        strides = tuple(stride for t in written for stride in t.stride())
        _launch(
            kernel,
            (triton.cdiv(keys_or_queries, block), H, B),
            (q, k, v, do, lse, delta, *written),
            (*read, *strides),
            constants,
            num_stages=2,
        )
    return dq, dk, dv


def _constants(q: Tensor) -> tuple[int, dict[str, int]]:
    block = 64 if q.element_size() == 2 else 32
    return block, {
        "BLOCK_Q": block,
        "BLOCK_K": block,
        "BLOCK_D": max(16, triton.next_power_of_2(q.shape[3])),
    }


def _launch(
    kernel: JITFunction,
    grid: tuple[int, int, int],
    tensors: tuple[Tensor, ...],
    numbers: tuple[Any, ...],
    constants: dict[str, int],
    num_stages: int,
) -> None:
    """Launch what was compiled for the same numbers, dtypes and alignment before; else as anybody does."""
    if JITFunction.run.__module__ != JITFunction.__module__:  # somebody looks on
        kernel[grid](*tensors, *numbers, **constants, num_stages=num_stages)
        return
    aligned = [t.data_ptr() % 16 == 0 for t in tensors]
    key = (kernel, tensors[0].device.index, tensors[0].dtype, *aligned, numbers, *constants.values())
    compiled = _compiled.get(key)
    if compiled is not None:
        compiled[grid](*tensors, *numbers, *constants.values())
        return
    made = kernel[grid](*tensors, *numbers, **constants, num_stages=num_stages)
    if isinstance(made, CompiledKernel):
        if len(_compiled) >= MOST_KEPT:
            _compiled.clear()
        _compiled[key] = made
