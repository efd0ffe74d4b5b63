# label: right
# title: tanh by the sigmoid, the derivative from s

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def score(x, b, h, i, j, S_q, S_k, extras):
    half = tl.sigmoid(2 * x / extras[0])
    return extras[0] * (half + half - 1)


@triton.jit
def gradient(ds, x, s, b, h, i, j, S_q, S_k, extras):
    share = s / extras[0]
    return ds * (1 - share * share)


def softcap(q, k, v, do, cap, alpha):
    hooks = Hooks(
        mask=causal_mask, keys=causal_keys, queries=causal_queries,
        score=score, score_gradient=gradient, extras=(cap,),
    )
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    return o, lse, dq, dk, dv
