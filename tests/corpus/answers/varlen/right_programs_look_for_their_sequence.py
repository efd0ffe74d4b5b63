# label: right
# title: no list: each program looks for its block

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def place_of(cu_ptr, n, sequences, BLOCK):
    first = 0
    block = 0
    owner = 0
    found = 0
    for b in range(sequences):
        count = (tl.load(cu_ptr + b + 1) - tl.load(cu_ptr + b) + BLOCK - 1) // BLOCK
        here = (n >= first) & (n < first + count)
        block = tl.where(here, n - first, block)
        owner = tl.where(here, b, owner)
        found = tl.where(here, 1, found)
        first += count
    return tl.where(found == 1, block, 1 << 20), owner


@triton.jit
def for_queries(n, b, extras):
    cu_q, cu_k, sequences, BLOCK = extras
    return place_of(cu_q, n, sequences, BLOCK)


@triton.jit
def for_keys(n, b, extras):
    cu_q, cu_k, sequences, BLOCK = extras
    return place_of(cu_k, n, sequences, BLOCK)


@triton.jit
def span(b, S_q, S_k, extras):
    cu_q, cu_k, sequences, BLOCK = extras
    q0 = tl.load(cu_q + b).to(tl.int64)
    k0 = tl.load(cu_k + b).to(tl.int64)
    nq = (tl.load(cu_q + b + 1) - q0).to(tl.int32)
    nk = (tl.load(cu_k + b + 1) - k0).to(tl.int32)
    return q0, k0, nq, nk


def varlen(q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha):
    B = 32
    n = cu_seqlens_q.numel() - 1
    extras = (cu_seqlens_q, cu_seqlens_k, n, B)
    if causal:
        hooks = Hooks(sequence=span, query_block=for_queries, key_block=for_keys, extras=extras,
                      mask=causal_mask, keys=causal_keys, queries=causal_queries)
    else:
        hooks = Hooks(sequence=span, query_block=for_queries, key_block=for_keys, extras=extras)
    size = (1, (q.shape[2] // B + n) * B, (k.shape[2] // B + n) * B)
    o, lse = hooked_forward(q, k, v, alpha, hooks, B, size)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks, B, size)
    return o, lse, dq, dk, dv
