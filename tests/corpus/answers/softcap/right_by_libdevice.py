# label: right
# title: libdevice's tanh, twice

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries
from triton.language.extra import libdevice


@triton.jit
def capped(x, b, h, i, j, S_q, S_k, extras):
    return extras[0] * libdevice.tanh(x / extras[0])


@triton.jit
def through_the_cap(ds, x, s, b, h, i, j, S_q, S_k, extras):
    t = libdevice.tanh(x / extras[0])
    return ds - ds * t * t


def softcap(q, k, v, do, cap, alpha):
    hooks = Hooks(capped, through_the_cap, causal_mask, causal_keys, causal_queries, extras=(cap,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
