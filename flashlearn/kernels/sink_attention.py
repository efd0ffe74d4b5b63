"""Causal attention with a sink: one learned logit per head, in the softmax's denominator and without a value.

    >>> o, lse, dq, dk, dv, dlogits = sinks(q, k, v, do, logits, alpha=0.25)

A row's softmax begins with the sink's logit instead of nothing, and LSE includes it; dQ, dK and dV follow
from that LSE unchanged. dlogits_h is minus the sum, over batches and queries, of the sink's own weight times
delta. The lines between BEGIN and END SOLUTION are lesson 15's exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries

__all__ = ["sinks"]


@triton.jit
def sink_start(b, h, extras):
    # the maximum and the sum that a row's softmax begins with; logits_ptr has one fp32 number per head
    logits_ptr = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO sinks: the maximum and the sum of a row with nothing but its sink")
    return tl.load(logits_ptr + h), 1.0  # exp(logit − logit)
    ### END SOLUTION


@triton.jit
def sink_gradient_kernel(logits_ptr, lse_ptr, delta_ptr, dlogits_ptr, B, H, S, BLOCK: tl.constexpr):
    # a program per head: reads B · S numbers of LSE and of delta, [B, H, S] both, and writes one number
    h = tl.program_id(0).to(tl.int64)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO sinks: sum the sink's weight times delta over batches and queries")
    logit = tl.load(logits_ptr + h)
    total = tl.zeros((BLOCK,), tl.float32)
    for b in range(B):
        for start in range(0, S, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            at = (b * H + h) * S + rows
            lse = tl.load(lse_ptr + at, mask=rows < S, other=float("inf"))  # padding: a weight of 0
            delta = tl.load(delta_ptr + at, mask=rows < S, other=0.0)
            total += tl.exp(logit - lse) * delta
    tl.store(dlogits_ptr + h, -tl.sum(total))
    ### END SOLUTION


def sinks(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """O, LSE, dQ, dK, dV and dlogits [H] in fp32; `logits` [H] are finite, in fp32."""
    B, H, S_q, _ = q.shape
    hooks = Hooks(
        start=sink_start, extras=(logits,), mask=causal_mask, keys=causal_keys, queries=causal_queries
    )
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    gradients = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    dlogits = torch.empty_like(logits)
    BLOCK = min(1024, triton.next_power_of_2(S_q))
    sink_gradient_kernel[(H,)](logits, lse, delta_preprocess(o, do), dlogits, B, H, S_q, BLOCK=BLOCK)
    return o, lse, *gradients, dlogits
