"""A ragged batch: sequences of any lengths, one after another, without padding.

    >>> cu_seqlens = torch.tensor([0, 100, 130, 600], dtype=torch.int32)     # lengths 100, 30, 470
    >>> o, lse, dq, dk, dv = varlen(q, k, v, do, cu_seqlens, cu_seqlens, causal=True, alpha=0.25)

q, o, do are [1, H, T_q, D], k and v [1, H, T_k, D], lse [1, H, T_q]. A sequence's queries see its keys
alone. Each program takes a block of a list that holds no block twice and none that is empty. The lines
between BEGIN and END SOLUTION are lesson 15's exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries

__all__ = ["block_list", "varlen"]


@triton.jit
def packed_sequence(b, S_q, S_k, extras):
    # the first query and the first key of sequence b, and how many it has of each
    cu_q_ptr, cu_k_ptr = extras[0], extras[1]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO varlen: where does sequence b begin, and how long is it?")
    row_0 = tl.load(cu_q_ptr + b)
    key_0 = tl.load(cu_k_ptr + b)
    queries = tl.load(cu_q_ptr + b + 1) - row_0
    keys = tl.load(cu_k_ptr + b + 1) - key_0
    return row_0.to(tl.int64), key_0.to(tl.int64), queries, keys  # 64 bits: row_0 · q_row may pass 2³¹
    ### END SOLUTION


@triton.jit
def listed_query_block(n, b, extras):
    # entry n of the list of blocks of queries: the block, counted within its sequence, and the sequence
    blocks_ptr = extras[2]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO varlen: read entry n of the list")
    return tl.load(blocks_ptr + 2 * n), tl.load(blocks_ptr + 2 * n + 1)
    ### END SOLUTION


@triton.jit
def listed_key_block(n, b, extras):
    # the same of the list of blocks of keys
    blocks_ptr = extras[3]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO varlen: read entry n of the list")
    return tl.load(blocks_ptr + 2 * n), tl.load(blocks_ptr + 2 * n + 1)
    ### END SOLUTION


def block_list(cu_seqlens: Tensor, BLOCK: int) -> Tensor:
    """[blocks, 2], int32, on the device of cu_seqlens: for each program its block and its sequence."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO varlen: which blocks are there, and of which sequences?")
    borders = cu_seqlens.tolist()
    lengths = [borders[b + 1] - borders[b] for b in range(len(borders) - 1)]
    blocks = [(block, b) for b, length in enumerate(lengths) for block in range(triton.cdiv(length, BLOCK))]
    return torch.tensor(blocks, dtype=torch.int32, device=cu_seqlens.device)
    ### END SOLUTION


def varlen(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """O, LSE, dQ, dK, dV of the sequences between the borders cu_seqlens (int32, from 0 to T)."""
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    query_blocks, key_blocks = (block_list(borders, BLOCK) for borders in (cu_seqlens_q, cu_seqlens_k))
    hooks = Hooks(
        sequence=packed_sequence, query_block=listed_query_block, key_block=listed_key_block,
        extras=(cu_seqlens_q, cu_seqlens_k, query_blocks, key_blocks),
        **({"mask": causal_mask, "keys": causal_keys, "queries": causal_queries} if causal else {}),
    )  # fmt: skip
    launched = (1, BLOCK * len(query_blocks), BLOCK * len(key_blocks))  # a program for each entry
    o, lse = hooked_forward(q, k, v, alpha, hooks, BLOCK, launched)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks, BLOCK, launched)
