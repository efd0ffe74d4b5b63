"""Attention that autograd can differentiate, by the kernels of lessons 06 to 08.

    >>> q, k, v = (torch.randn(1, 2, 5, 16, requires_grad=True) for _ in range(3))
    >>> o = flash_attention(q, k, v, causal=True)            # [B, H, S_q, D], like q
    >>> o.sum().backward()                                   # q.grad, k.grad and v.grad are there

The forward pass keeps Q, K, V, O and LSE, none of which grows with S², and the backward pass rebuilds
P from them (FlashAttention-2, Dao, 2023, section 3.1). Tensors are [B, H, S, D] of any strides, within
flash_forward's limits: H and B to 65535, heads within 2³¹ elements; views are not copied. A causal mask
is aligned bottom-right, which for S_q ≠ S_k is not what `is_causal` of torch's
scaled_dot_product_attention means. What lies between BEGIN and END SOLUTION is lesson 09's exercises.
"""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal, flash_forward_kernel

__all__ = ["FlashAttention", "flash_attention", "refuse_misfits", "strided_inputs"]


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO strided_inputs: dimensions, dtypes, devices, shapes")
    named = {"q": q, "k": k, "v": v}
    for name, t in named.items():
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
    for name in ("k", "v"):
        t = named[name]
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: convert one, q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: move one, they share a device")
        expected = (q.shape[0], q.shape[1], k.shape[2], q.shape[3])
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )
    ### END SOLUTION


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO strided_inputs: alpha, o, lse, the launch with all strides")
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    if alpha is None:
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )  # fmt: skip
    return o, lse
    ### END SOLUTION


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        ### BEGIN SOLUTION
        # STUB: raise NotImplementedError("TODO flash_attention: o and lse; save what backward needs")
        forward = flash_forward_causal if causal else flash_forward
        o, lse = forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)  # tensors; autograd frees them when the graph goes
        ctx.causal, ctx.alpha = causal, alpha  # everything else
        return o
        ### END SOLUTION

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        ### BEGIN SOLUTION
        # STUB: raise NotImplementedError("TODO flash_attention: one gradient for each argument of forward")
        q, k, v, o, lse = ctx.saved_tensors
        to_dq = dq_kernel_causal if ctx.causal else dq_kernel
        to_dkv = dkv_kernel_causal if ctx.causal else dkv_kernel
        dq = to_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = to_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None  # causal and alpha are no tensors: no gradient
        ### END SOLUTION


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO flash_attention: the default of alpha, then FlashAttention.apply")
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
    ### END SOLUTION
