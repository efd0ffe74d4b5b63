"""Variants of attention as hooks of one pair of kernels: shared heads, windows, soft caps, distances.

    >>> o, lse, dq, dk, dv = sliding_window(q, k, v, do, window=128, alpha=0.25)

Each function runs both passes and returns (o, lse, dq, dk, dv). Tensors are [B, H, S, D] as for
`hooked_forward`; `do` is the derivative of the loss by O. Causal masks are aligned bottom-right: query i is
at the place of key i + S_k − S_q. The lines between BEGIN and END SOLUTION are lesson 15's
exercises.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries

__all__ = ["alibi", "gqa", "sliding_window", "softcap"]


@triton.jit
def group_key_head(h, H, H_k):
    # the head of K and V that head h of Q meets
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO gqa: which head of K and V does head h of Q meet?")
    return h // (H // H_k)
    ### END SOLUTION


@triton.jit
def group_query_heads(h_k, H, H_k):
    # the heads of Q whose gradients add up in head h_k: the first, one past the last, and the step
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO gqa: which heads of Q meet head h_k of K and V?")
    group = H // H_k
    return h_k * group, (h_k + 1) * group, 1
    ### END SOLUTION


def gqa(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, ...]:
    """Both passes where K and V have H_k heads, each for H / H_k adjacent heads of Q; all keys are seen."""
    hooks = Hooks(key_head=group_key_head, query_heads=group_query_heads)
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)


@triton.jit
def window_mask(b, h, i, j, S_q, S_k, extras):
    # query i sees the last `window` keys up to the one at its own place
    window = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO sliding_window: where does query i see key j?")
    own = i + S_k - S_q
    return (j <= own) & (j > own - window)
    ### END SOLUTION


@triton.jit
def window_keys(first, last, S_q, S_k, extras):
    # the first key that a query of first … last sees, and one past the last one
    window = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO sliding_window: from which key to which do these queries see?")
    return tl.maximum(0, first + S_k - S_q - window + 1), tl.minimum(S_k, last + S_k - S_q + 1)
    ### END SOLUTION


@triton.jit
def window_queries(first, last, S_q, S_k, extras):
    # the first query that sees a key of first … last, and one past the last one
    window = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO sliding_window: from which query to which are these keys seen?")
    return tl.maximum(0, first - (S_k - S_q)), tl.minimum(S_q, last - (S_k - S_q) + window)
    ### END SOLUTION


def sliding_window(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, window: int, alpha: float
) -> tuple[Tensor, ...]:
    """Both passes where query i sees the keys i + S_k − S_q − window < j ≤ i + S_k − S_q."""
    hooks = Hooks(mask=window_mask, keys=window_keys, queries=window_queries, extras=(window,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)


@triton.jit
def capped_score(x, b, h, i, j, S_q, S_k, extras):
    # the score, which stays between −cap and cap
    cap = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO softcap: the capped score")
    return cap * (2 * tl.sigmoid(2 * x / cap) - 1)  # tanh y = 2 sigmoid(2 y) − 1
    ### END SOLUTION


@triton.jit
def capped_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    # the loss's derivative by x, from its derivative ds by the capped score s
    cap = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO softcap: ds times the derivative of the cap")
    return ds * (1 - (s / cap) * (s / cap))  # tanh′ = 1 − tanh²
    ### END SOLUTION


def softcap(q: Tensor, k: Tensor, v: Tensor, do: Tensor, cap: float, alpha: float) -> tuple[Tensor, ...]:
    """Both passes of causal attention with the scores cap · tanh(alpha q · k / cap)."""
    hooks = Hooks(
        score=capped_score, score_gradient=capped_gradient, extras=(cap,),
        mask=causal_mask, keys=causal_keys, queries=causal_queries,
    )  # fmt: skip
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)


@triton.jit
def score_with_distance(x, b, h, i, j, S_q, S_k, extras):
    # the score less the head's slope times the distance of key j from the query's own place
    slopes_ptr = extras[0]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO alibi: take off the slope of head h times the distance")
    return x - tl.load(slopes_ptr + h) * (i + S_k - S_q - j)
    ### END SOLUTION


def alibi(q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, alpha: float) -> tuple[Tensor, ...]:
    """Both passes of causal attention with the scores alpha q · k − slopes[h] · (i + S_k − S_q − j)."""
    hooks = Hooks(
        score=score_with_distance, extras=(slopes,),
        mask=causal_mask, keys=causal_keys, queries=causal_queries,
    )  # fmt: skip
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
