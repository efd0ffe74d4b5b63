# label: right
# title: lists that round outwards by a block, mask as two comparisons

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def mask(b, h, i, j, S_q, S_k, extras):
    place = S_k - S_q + i
    oldest = place - extras[0] + 1
    return (oldest <= j) & (j <= place)


@triton.jit
def keys(first, last, S_q, S_k, extras):
    begin = (S_k - S_q) + first - extras[0]
    if begin < 0:
        begin = 0
    return begin, tl.minimum(S_k, last + 2 + S_k - S_q)


@triton.jit
def queries(first, last, S_q, S_k, extras):
    begin, end = causal_queries(first, last, S_q, S_k, extras)
    return begin, tl.minimum(end, last + 1 + S_q - S_k + extras[0])


def sliding_window(q, k, v, do, window, alpha):
    hooks = Hooks(mask=mask, keys=keys, queries=queries, extras=(window,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
