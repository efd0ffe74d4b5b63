# label: right
# title: the absolute distance in floats, with the slope negated in the launcher

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def score(x, b, h, i, j, S_q, S_k, extras):
    apart = tl.abs(j - (i + (S_k - S_q))).to(tl.float32)
    return x + apart * tl.load(extras[0] + h)


def alibi(q, k, v, do, slopes, alpha):
    hooks = Hooks(score, mask=causal_mask, keys=causal_keys, queries=causal_queries, extras=(-slopes,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
