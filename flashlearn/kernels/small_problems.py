"""Problems that are over in microseconds: lessons 06 to 08's kernels, launched by `compiled_launches`.

They need no tensor descriptors, which take Python longer than such a problem takes the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
from torch import Tensor
from triton.runtime.jit import JITFunction

from flashlearn.kernels.compiled_launches import ALIGNMENT, Call, launch
from flashlearn.kernels.delta import delta_preprocess_kernel
from flashlearn.kernels.flash_backward_dkv import flash_dkv_causal_kernel, flash_dkv_kernel
from flashlearn.kernels.flash_backward_dq import flash_dq_causal_kernel, flash_dq_kernel
from flashlearn.kernels.flash_forward import flash_forward_causal_kernel, flash_forward_kernel

__all__ = ["is_short", "short_backward", "short_forward"]

MAX_OPERATIONS = 1e10
"""Operations (2·S_q·S_k·D) that a GPU finishes before Python has built a few descriptors."""


def is_short(q: Tensor, k: Tensor) -> bool:
    """Whether attention of q and k is that small; these kernels do not support grouped queries."""
    B, H, S_q, D = q.shape
    return q.is_cuda and k.shape[1] == H and 4.0 * B * H * S_q * k.shape[2] * D < MAX_OPERATIONS


def short_forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE as `flash_forward` returns them."""
    shape = q.shape
    o = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = q.new_empty(shape[:3], dtype=torch.float32)
    key = ("forward", causal, alpha, q.dtype, q.device, shape, k.shape, q.stride(), k.stride(), v.stride())
    launch(key, (q, k, v, o, lse), lambda: [_forward(q, k, v, o, lse, causal, alpha)])
    return o, lse


def short_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV as `dq_kernel` and `dkv_kernel` return them, with one delta for both."""
    lse = lse.contiguous()
    delta = torch.empty_like(lse)
    dq, dk, dv = _gradients(q, k, v)
    strides = (q.stride(), k.stride(), v.stride(), o.stride(), do.stride())
    key = ("backward", causal, alpha, q.dtype, q.device, q.shape, k.shape, *strides)
    read = (q, k, v, do, lse, delta)

    def calls() -> list[Call]:
        return [
            _delta(o, do, delta),
            _dkv((*read, dk, dv), causal, alpha),
            _dq((*read, dq), causal, alpha),
        ]

    launch(key, (*read, o, dq, dk, dv), calls)
    return dq, dk, dv


def _gradients(q: Tensor, k: Tensor, v: Tensor) -> Sequence[Tensor]:
    """Memory for dQ, dK and dV: of one piece where they are alike, since asking for it takes long."""
    if q.shape == k.shape == v.shape and q.nbytes % ALIGNMENT == 0:
        return q.new_empty((3, *q.shape)).unbind()
    return [torch.empty_like(t, memory_format=torch.contiguous_format) for t in (q, k, v)]


def _forward(q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, causal: bool, alpha: float) -> Call:
    B, H, S_q, D = q.shape
    block, constants = _constants(q)
    numbers = (alpha, H, S_q, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(), *o.stride())
    kernel = flash_forward_causal_kernel if causal else flash_forward_kernel
    grid = (triton.cdiv(S_q, block), H, B)
    return Call(kernel, grid, (q, k, v, o, lse, *numbers), constants, {"num_stages": 3})


def _delta(o: Tensor, do: Tensor, delta: Tensor) -> Call:
    B, H, S, D = o.shape
    rows = {"BLOCK_S": 16, "BLOCK_D": triton.next_power_of_2(D)}
    arguments = (o, do, delta, H, S, D, *o.stride(), *do.stride())
    return Call(delta_preprocess_kernel, (triton.cdiv(S, 16), H, B), arguments, rows, {"num_warps": 1})


def _dkv(tensors: tuple[Tensor, ...], causal: bool, alpha: float) -> Call:
    kernel = flash_dkv_causal_kernel if causal else flash_dkv_kernel
    return _backward(kernel, tensors, alpha, owned=tensors[1].shape[2])


def _dq(tensors: tuple[Tensor, ...], causal: bool, alpha: float) -> Call:
    kernel = flash_dq_causal_kernel if causal else flash_dq_kernel
    return _backward(kernel, tensors, alpha, owned=tensors[0].shape[2])


def _backward(kernel: JITFunction, tensors: tuple[Tensor, ...], alpha: float, owned: int) -> Call:
    q, k, v, do, _, _, *written = tensors
    B, H, S_q, D = q.shape
    block, constants = _constants(q)
    strides = (stride for t in (q, k, v, do, *written) for stride in t.stride())
    arguments = (*tensors, alpha, H, S_q, k.shape[2], D, *strides)
    return Call(kernel, (triton.cdiv(owned, block), H, B), arguments, constants, {"num_stages": 2})


def _constants(q: Tensor) -> tuple[int, dict[str, int]]:
    block = 64 if q.element_size() == 2 else 32
    return block, {
        "BLOCK_Q": block,
        "BLOCK_K": block,
        "BLOCK_D": max(16, triton.next_power_of_2(q.shape[3])),
    }
