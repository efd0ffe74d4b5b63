# label: right
# title: the head by a product and a division, the heads from the back

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def key_head(h, H, H_k):
    return h * H_k // H


@triton.jit
def query_heads(h_k, H, H_k):
    return (h_k + 1) * H // H_k - H // H_k, (h_k + 1) * H // H_k, 1


def gqa(q, k, v, do, alpha):
    hooks = Hooks(query_heads=query_heads, key_head=key_head)
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
