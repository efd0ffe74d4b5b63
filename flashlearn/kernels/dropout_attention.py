"""Dropout on attention's weights, whose random numbers are computed again where they are needed.

    >>> o, lse, dq, dk, dv = dropout(q, k, v, do, p=0.1, seed=7, alpha=0.25)

A weight is kept where Philox's number at its own position is p or more, and divided by 1 − p; LSE is that of
all scores. The number depends on the seed and the position alone, so that no mask is stored: the backward
pass asks for the same positions (FlashAttention, arXiv 2205.14135, appendix B). The lines between BEGIN and
END SOLUTION are lesson 15's exercise.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks

__all__ = ["dropout"]


@triton.jit
def kept_weights(x, b, h, i, j, S_q, S_k, extras):
    # a tile of P, or of dP, after dropout; weight (b, h, i, j) is number ((b · H + h) · S_q + i) · S_k + j
    p, seed, H = extras
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO dropout: each weight's number, and what is left of x")
    position = ((b * H + h) * S_q + i) * S_k + j  # 64 bits, since b has them
    return tl.where(tl.rand(seed, position) >= p, x / (1 - p), 0.0)
    ### END SOLUTION


def dropout(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """O, LSE, dQ, dK, dV where each weight is dropped with probability p < 1; all keys are seen."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO dropout: the hook, what it reads, and both passes with it")
    hooks = Hooks(weights=kept_weights, extras=(p, seed, q.shape[1]))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    ### END SOLUTION
