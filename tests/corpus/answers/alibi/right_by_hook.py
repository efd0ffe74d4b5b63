# label: right
# title: slope times distance, taken off

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def nearer_is_better(x, b, h, i, j, S_q, S_k, extras):
    slope = tl.load(extras[0] + h)
    distance = i + S_k - S_q - j
    return x - slope * distance


def alibi(q, k, v, do, slopes, alpha):
    hooks = Hooks(
        score=nearer_is_better, extras=(slopes,),
        mask=causal_mask, keys=causal_keys, queries=causal_queries,
    )
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    return o, lse, dq, dk, dv
