# label: right
# title: numbers counted from the head's first one

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def mine(w, batch, head, row, col, nq, nk, stuff):
    heads = stuff[0]
    first = (batch * heads + head).to(tl.int64) * nq * nk
    r = tl.rand(stuff[1], first + row * nk + col)
    dropped = r < stuff[2]
    return tl.where(dropped, tl.zeros_like(w), w * stuff[3])


def dropout(q, k, v, do, p, seed, alpha):
    H = q.size(1)
    spec = Hooks(weights=mine, extras=(H, seed, p, 1 / (1 - p)))
    out, lse = hooked_forward(q, k, v, alpha, spec, 16)
    grads = hooked_backward(q, k, v, out, do, lse, alpha, spec, 16)
    return (out, lse) + tuple(grads)
