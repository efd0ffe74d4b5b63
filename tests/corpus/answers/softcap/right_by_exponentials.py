# label: right
# title: tanh by one exponential, the derivative without a subtraction

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def score(x, b, h, i, j, S_q, S_k, extras):
    e = tl.exp(-2 * tl.abs(x) / extras[0])  # at most 1
    size = extras[0] * (1 - e) / (1 + e)
    return tl.where(x < 0, -size, size)


@triton.jit
def gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    y = 2 * x / extras[0]
    return ds * (4 * tl.sigmoid(y) * tl.sigmoid(-y))


def softcap(q, k, v, do, cap, alpha):
    hooks = Hooks(score, gradient, causal_mask, causal_keys, causal_queries, extras=(cap,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
