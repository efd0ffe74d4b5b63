# label: right
# title: distance from the own place, ranges with both bounds

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def in_window(b, h, i, j, S_q, S_k, extras):
    distance = i + (S_k - S_q) - j
    return (distance >= 0) & (distance < extras[0])


@triton.jit
def keys_of(first, last, S_q, S_k, extras):
    shift = S_k - S_q
    begin = first + shift - (extras[0] - 1)
    end = last + shift + 1
    return tl.maximum(begin, 0), tl.minimum(end, S_k)


@triton.jit
def queries_of(first, last, S_q, S_k, extras):
    shift = S_k - S_q
    begin = first - shift
    end = last - shift + extras[0]
    return tl.maximum(begin, 0), tl.minimum(end, S_q)


def sliding_window(q, k, v, do, window, alpha):
    hooks = Hooks(mask=in_window, keys=keys_of, queries=queries_of, extras=(window,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    return o, lse, dq, dk, dv
