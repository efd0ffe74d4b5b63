"""Launchers and autograd.Functions that are wrong on purpose: the real mistakes of lesson 09.

Launchers get the strides wrong around the course's right forward kernel; the Functions call the course's
right launchers, and are right but for one fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import triton
from torch import Tensor

from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal, flash_forward_kernel

__all__ = ["faulty_attention", "faulty_launcher"]


def faulty_launcher(fault: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """strided_inputs with one fault; "" is the right one."""

    def launcher(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
        refuse_misfits(q, k, v)
        B, H, S_q, D = q.shape
        S_k, BLOCK_D = k.shape[2], max(16, triton.next_power_of_2(q.shape[3]))
        if fault == "zero is no alpha":
            alpha = alpha or 1 / math.sqrt(D)
        if alpha is None:
            alpha = 1 / math.sqrt(BLOCK_D if fault == "alpha of the padded D" else D)
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
        flash_forward_kernel[(triton.cdiv(S_q, 32), B * H)](
            q, k, v, o, lse, alpha, H, S_q, S_k, D, *(s for name in "qkvo" for s in strides[name]),
            BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
        )  # fmt: skip
        return o, lse

    return launcher


def packed(shape: torch.Size) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def faulty_attention(fault: str) -> Callable[..., Tensor]:
    """flash_attention with one fault; "" is the right one."""

    kept: dict[str, tuple] = {}

    class Faulty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, causal, alpha):
            if fault == "no mask":
                causal = False
            o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
            ctx.save_for_backward(q, k, v, o, lse)
            ctx.causal, ctx.alpha = causal, alpha
            kept["last"] = (q, k, v, o, lse)
            return o

        @staticmethod
        def backward(ctx, do):
            q, k, v, o, lse = kept["last"] if fault == "kept outside" else ctx.saved_tensors
            causal = ctx.causal and fault != "no mask backward"
            alpha = 1 / math.sqrt(q.shape[-1]) if fault == "default alpha backward" else ctx.alpha
            dq = (dq_kernel_causal if causal else dq_kernel)(q, k, v, o, do, lse, alpha)
            dk, dv = (dkv_kernel_causal if causal else dkv_kernel)(q, k, v, o, do, lse, alpha)
            if fault == "dk and dv exchanged":
                dk, dv = dv, dk
            return dq, dk, dv, None, None

    def attention(
        q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
    ) -> Tensor:
        if fault == "zero is no alpha":
            alpha = alpha or 1 / math.sqrt(q.shape[-1])
        if alpha is None:
            alpha = 1.0 if fault == "no default" else 1 / math.sqrt(q.shape[-1])
        if fault == "no graph":
            return Faulty.apply(q.detach(), k.detach(), v.detach(), causal, alpha)
        return Faulty.apply(q, k, v, causal, alpha)

    return attention
