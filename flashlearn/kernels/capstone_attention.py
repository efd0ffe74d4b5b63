"""One attention with every variant of lesson 15.

    >>> o, lse, dq, dk, dv, dlogits = capstone(
    ...     q, k, v, do, slopes, logits, cu_seqlens_q, cu_seqlens_k, causal, window, cap, p, seed, alpha
    ... )

Sequences lie one after another, as for `varlen`; a batch of equal lengths is a special case. Each hook here
calls the hook of its own exercise, with that exercise's own extras: a tuple may hold tuples. The lines
between BEGIN and END SOLUTION are lesson 15's last exercise.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.dropout_attention import kept_weights
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks
from flashlearn.kernels.sink_attention import sink_gradient_kernel, sink_start
from flashlearn.kernels.variants import (
    capped_gradient,
    capped_score,
    group_key_head,
    group_query_heads,
    score_with_distance,
    window_keys,
    window_mask,
    window_queries,
)
from flashlearn.kernels.varlen_attention import (
    block_list,
    listed_key_block,
    listed_query_block,
    packed_sequence,
)

__all__ = ["capstone"]


# extras: 0 the window, 1 the cap, 2 slopes, 3 (p, seed, H), 4 logits, 5 borders and lists, 6 (T_q, T_k)
@triton.jit
def any_mask(b, h, i, j, S_q, S_k, extras):
    # where query i of sequence b sees key j
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the mask of a window")
    return window_mask(b, h, i, j, S_q, S_k, extras[0])
    ### END SOLUTION


@triton.jit
def any_keys(first, last, S_q, S_k, extras):
    # the keys that queries first … last visit: the first, and one past the last
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the keys of a window")
    return window_keys(first, last, S_q, S_k, extras[0])
    ### END SOLUTION


@triton.jit
def any_queries(first, last, S_q, S_k, extras):
    # the queries that visit keys first … last: the first, and one past the last
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the queries of a window")
    return window_queries(first, last, S_q, S_k, extras[0])
    ### END SOLUTION


@triton.jit
def sloped_score(x, b, h, i, j, S_q, S_k, extras):
    # the score without a cap
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the score without a cap")
    return score_with_distance(x, b, h, i, j, S_q, S_k, extras[2])
    ### END SOLUTION


@triton.jit
def capped_and_sloped_score(x, b, h, i, j, S_q, S_k, extras):
    # the score with a cap: capped first
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the score with a cap, then the slope")
    s = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return score_with_distance(s, b, h, i, j, S_q, S_k, extras[2])
    ### END SOLUTION


@triton.jit
def any_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    # the loss's derivative by x, where there is a cap; s has the slope as well
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the derivative of the cap, at the score before the slope")
    capped = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return capped_gradient(ds, x, capped, b, h, i, j, S_q, S_k, extras[1])
    ### END SOLUTION


@triton.jit
def any_weights(w, b, h, i, j, S_q, S_k, extras):
    # dropout: a weight's number counts packed rows and columns, (h · T_q + row) · T_k + column
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: dropout, with numbers of the packed tensors")
    row_0, key_0, _, _ = packed_sequence(b, S_q, S_k, extras[5])
    T_q, T_k = extras[6]
    return kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3])
    ### END SOLUTION


@triton.jit
def any_start(b, h, extras):
    # a logit may be −∞, which is no sink
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the sink")
    return sink_start(b, h, extras[4])
    ### END SOLUTION


@triton.jit
def any_sequence(b, S_q, S_k, extras):
    # the first query and the first key of sequence b, and how many it has of each
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the sequence's borders")
    return packed_sequence(b, S_q, S_k, extras[5])
    ### END SOLUTION


@triton.jit
def any_query_block(n, b, extras):
    # entry n of the list of blocks of queries
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the block of queries and its sequence")
    return listed_query_block(n, b, extras[5])
    ### END SOLUTION


@triton.jit
def any_key_block(n, b, extras):
    # entry n of the list of blocks of keys
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO capstone: the block of keys and its sequence")
    return listed_key_block(n, b, extras[5])
    ### END SOLUTION


def capstone(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, logits: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, causal: bool, window: int, cap: float, p: float, seed: int, alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """O, LSE, dQ, dK, dV, dlogits; a window, a cap, a p and slopes of 0 are none, and so are logits of −∞."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO capstone: which hooks, with which extras, and dlogits")
    H, T_q, T_k = q.shape[1], q.shape[2], k.shape[2]
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    lists = [block_list(borders, BLOCK) for borders in (cu_seqlens_q, cu_seqlens_k)]
    launched = (1, *(BLOCK * len(blocks) for blocks in lists))
    changed = {}
    if causal:  # a causal mask is a window that no sequence fills
        changed |= {"mask": any_mask, "keys": any_keys, "queries": any_queries}
    if cap:
        changed |= {"score": capped_and_sloped_score, "score_gradient": any_gradient}
    if p:
        changed |= {"weights": any_weights}
    borders_and_lists = (cu_seqlens_q, cu_seqlens_k, *lists)
    hooks = Hooks(**{
        "score": sloped_score, "start": any_start, "sequence": any_sequence, "query_block": any_query_block,
        "key_block": any_key_block, "key_head": group_key_head, "query_heads": group_query_heads,
        "extras": (
            (window or T_k,), (cap,), (slopes,), (p, seed, H), (logits,), borders_and_lists, (T_q, T_k),
        ),
    } | changed)  # fmt: skip
    o, lse = hooked_forward(q, k, v, alpha, hooks, BLOCK, launched)
    gradients = hooked_backward(q, k, v, o, do, lse, alpha, hooks, BLOCK, launched)
    dlogits = torch.empty_like(logits)
    seen = lse.masked_fill(lse == -float("inf"), float("inf"))  # neither key nor sink: a weight of 0, not NaN
    sink_gradient_kernel[(H,)](logits, seen, delta_preprocess(o, do), dlogits, 1, H, T_q, BLOCK=1024)
    return o, lse, *gradients, dlogits
    ### END SOLUTION
