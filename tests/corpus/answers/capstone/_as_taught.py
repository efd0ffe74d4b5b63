# part: a text that answers change

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries
from flashlearn.kernels.dropout_attention import kept_weights
from flashlearn.kernels.sink_attention import sink_gradient_kernel, sink_start
from flashlearn.kernels.variants import (
    capped_gradient, capped_score, group_key_head, group_query_heads, score_with_distance, window_keys,
    window_mask, window_queries,
)
from flashlearn.kernels.varlen_attention import (
    block_list, listed_key_block, listed_query_block, packed_sequence,
)


@triton.jit
def any_mask(b, h, i, j, S_q, S_k, extras):
    return window_mask(b, h, i, j, S_q, S_k, extras[0])


@triton.jit
def any_keys(first, last, S_q, S_k, extras):
    return window_keys(first, last, S_q, S_k, extras[0])


@triton.jit
def any_queries(first, last, S_q, S_k, extras):
    return window_queries(first, last, S_q, S_k, extras[0])


@triton.jit
def sloped_score(x, b, h, i, j, S_q, S_k, extras):
    return score_with_distance(x, b, h, i, j, S_q, S_k, extras[2])


@triton.jit
def capped_and_sloped_score(x, b, h, i, j, S_q, S_k, extras):
    s = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return score_with_distance(s, b, h, i, j, S_q, S_k, extras[2])


@triton.jit
def any_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    capped = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return capped_gradient(ds, x, capped, b, h, i, j, S_q, S_k, extras[1])


@triton.jit
def any_weights(w, b, h, i, j, S_q, S_k, extras):
    row_0, key_0, _, _ = packed_sequence(b, S_q, S_k, extras[5])
    T_q, T_k = extras[6]
    return kept_weights(w, b * 0, h, row_0 + i, key_0 + j, T_q, T_k, extras[3])


@triton.jit
def any_start(b, h, extras):
    return sink_start(b, h, extras[4])


@triton.jit
def any_sequence(b, S_q, S_k, extras):
    return packed_sequence(b, S_q, S_k, extras[5])


@triton.jit
def any_query_block(n, b, extras):
    return listed_query_block(n, b, extras[5])


@triton.jit
def any_key_block(n, b, extras):
    return listed_key_block(n, b, extras[5])


def capstone(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, logits: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, causal: bool, window: int, cap: float, p: float, seed: int, alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    H, T_q, T_k = q.shape[1], q.shape[2], k.shape[2]
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    lists = [block_list(borders, BLOCK) for borders in (cu_seqlens_q, cu_seqlens_k)]
    launched = (1, *(BLOCK * len(blocks) for blocks in lists))
    changed = {}
    if causal:
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
    } | changed)
    o, lse = hooked_forward(q, k, v, alpha, hooks, BLOCK, launched)
    gradients = hooked_backward(q, k, v, o, do, lse, alpha, hooks, BLOCK, launched)
    dlogits = torch.empty_like(logits)
    seen = lse.masked_fill(lse == -float("inf"), float("inf"))
    sink_gradient_kernel[(H,)](logits, seen, delta_preprocess(o, do), dlogits, 1, H, T_q, BLOCK=1024)
    return o, lse, *gradients, dlogits
