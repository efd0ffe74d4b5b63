"""Launchers that are wrong on purpose: strides gone wrong around the course's right forward kernel."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import triton
from torch import Tensor

from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel

__all__ = ["faulty_launcher"]


def faulty_launcher(fault: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """strided_inputs with one fault; "" is the right one."""

    def launcher(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
        refuse_misfits(q, k, v)
        B, H, S_q, D = q.shape
        S_k, BLOCK_D = k.shape[2], max(16, triton.next_power_of_2(q.shape[3]))
        if alpha is None:
            alpha = 1 / math.sqrt(D)
        o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
        lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
        strides = {"q": q.stride(), "k": k.stride(), "v": v.stride(), "o": o.stride()}
        if fault == "v with k's":
            strides["v"] = strides["k"]
        if fault == "k and v with q's":
            strides["k"] = strides["v"] = strides["q"]
        if fault == "o with q's":
            strides["o"] = strides["q"]
        if fault == "last is 1":
            strides = {name: (*all_of[:3], 1) for name, all_of in strides.items()}
        if fault == "as if contiguous":
            strides = {"q": o.stride(), "k": packed(k.shape), "v": packed(v.shape), "o": o.stride()}
        if fault == "heads before batch":
            strides = {name: (h, b, s, d) for name, (b, h, s, d) in strides.items()}
        flash_forward_kernel[(triton.cdiv(S_q, 32), H, B)](
            q, k, v, o, lse, alpha, H, S_q, S_k, D, *(s for name in "qkvo" for s in strides[name]),
            BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
        )  # fmt: skip
        return o, lse

    return launcher


def packed(shape: torch.Size) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
