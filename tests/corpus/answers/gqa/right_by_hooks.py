# label: right
# title: two hooks, the group's size computed in each

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def head_of_keys(h, H, H_k):
    size = H // H_k
    return h // size


@triton.jit
def heads_of_queries(h_k, H, H_k):
    size = H // H_k
    first = h_k * size
    return first, first + size, 1


def gqa(q, k, v, do, alpha):
    hooks = Hooks(key_head=head_of_keys, query_heads=heads_of_queries)
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    return o, lse, dq, dk, dv
