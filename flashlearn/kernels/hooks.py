"""What a variant of attention changes, as functions that the kernels are handed over: hooks.

    >>> hooks = Hooks(mask=causal_mask, keys=causal_keys, queries=causal_queries)    # the rest stays plain
    >>> o, lse = hooked_forward(q, k, v, alpha, hooks)
    >>> dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)

A hook is a `@triton.jit` function, and a compile-time constant of the kernel that calls it: the compiler puts
its body where the call is, so it costs what its lines cost. FlexAttention (Dong et al., 2024) has two such
hooks, for the score and the mask; here the tiles to visit, the heads, the weights and the place of a sequence
are hooks as well. They are given `i`, a tile's queries as a column, and `j`, its keys as a row, both counted
from the sequence's first; the b and h of the queries; S_q and S_k; and `extras`, a tuple of numbers and
tensors that only hooks read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

__all__ = ["PLAIN", "Hooks", "causal_keys", "causal_mask", "causal_queries"]


@triton.jit
def same_score(x, b, h, i, j, S_q, S_k, extras):
    """The score s that the softmax is taken of; x is alpha q · k."""
    return x


@triton.jit
def same_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    """The loss's derivative by x, from its derivative ds by s."""
    return ds


@triton.jit
def no_mask(b, h, i, j, S_q, S_k, extras):
    """Where query i sees key j; keys from S_k on are hidden by the kernel itself."""
    return j >= 0


@triton.jit
def all_keys(first, last, S_q, S_k, extras):
    """The first key that the queries first … last visit, and one past the last."""
    return 0, S_k


@triton.jit
def all_queries(first, last, S_q, S_k, extras):
    """The first query that visits the keys first … last, and one past the last."""
    return 0, S_q


@triton.jit
def same_weights(p, b, h, i, j, S_q, S_k, extras):
    """A tile of P as V meets it, linear in p: the backward pass sends dP through it, too."""
    return p


@triton.jit
def empty_row(b, h, extras):
    """The maximum and the sum that a row's softmax begins with."""
    return -float("inf"), 0.0


@triton.jit
def whole_sequence(b, S_q, S_k, extras):
    """The first query and the first key of sequence b, and how many it has of each."""
    return 0, 0, S_q, S_k


@triton.jit
def own_block(block, b, extras):
    """The block of queries, or of keys, that a program takes, and its sequence; the grid says block and b."""
    return block, b


@triton.jit
def own_key_head(h, H, H_k):
    """The head of K and V that head h of Q meets."""
    return h


@triton.jit
def own_query_head(h_k, H, H_k):
    """The heads of Q that meet head h_k of K and V: the first, one past the last, and the step."""
    return h_k, h_k + 1, 1


@triton.jit
def causal_mask(b, h, i, j, S_q, S_k, extras):
    """Aligned bottom-right: the last query sees the last key."""
    return j <= i + S_k - S_q


@triton.jit
def causal_keys(first, last, S_q, S_k, extras):
    """Up to what the last query sees."""
    return 0, tl.minimum(S_k, last + 1 + S_k - S_q)


@triton.jit
def causal_queries(first, last, S_q, S_k, extras):
    """From the first query that sees the first key."""
    return tl.maximum(0, first - (S_k - S_q)), S_q


@dataclass(frozen=True)
class Hooks:
    """The hooks of one variant, and `extras`, which they read; each is described where its plain one is.

    `score`, `mask`, `keys`, `weights`, `start`, `sequence`, `query_block` and `key_head` are called by the
    forward pass; the backward pass also calls `score_gradient`, `queries`, `key_block` and `query_heads`.
    """

    score: Any = same_score
    score_gradient: Any = same_gradient
    mask: Any = no_mask
    keys: Any = all_keys
    queries: Any = all_queries
    weights: Any = same_weights
    start: Any = empty_row
    sequence: Any = whole_sequence
    query_block: Any = own_block
    key_block: Any = own_block
    key_head: Any = own_key_head
    query_heads: Any = own_query_head
    extras: tuple = ()


PLAIN = Hooks()
"""Attention as lessons 06 to 08 compute it, without a mask."""
