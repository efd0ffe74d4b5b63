# label: right
# title: a group is one head with as many times the queries
# says: The heads of a group stand one below the other, so no hook is needed.

from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


def gqa(q, k, v, do, alpha):
    B, H, S_q, D = q.shape
    H_k = k.shape[1]
    stacked = (B, H_k, H // H_k * S_q, D)
    tall_q, tall_do = q.reshape(stacked).contiguous(), do.reshape(stacked).contiguous()
    o, lse = hooked_forward(tall_q, k, v, alpha)
    dq, dk, dv = hooked_backward(tall_q, k, v, o, tall_do, lse, alpha)
    return o.view(B, H, S_q, D), lse.view(B, H, S_q), dq.view(B, H, S_q, D), dk, dv
