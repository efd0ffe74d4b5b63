# label: right
# title: a program per block of queries, atomics

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def begin(b, h, extras):
    z = tl.load(extras[0] + h)
    return z, tl.exp(z - z)


@triton.jit
def dz_kernel(z_ptr, lse_ptr, delta_ptr, dz_ptr, S, BLOCK: tl.constexpr):
    h, b = tl.program_id(1), tl.program_id(2)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = (b * tl.num_programs(1) + h).to(tl.int64) * S
    lse = tl.load(lse_ptr + head + i, mask=i < S, other=0.0)
    delta = tl.load(delta_ptr + head + i, mask=i < S, other=0.0)
    w = tl.where(i < S, tl.exp(tl.load(z_ptr + h) - lse), 0.0)
    tl.atomic_add(dz_ptr + h, tl.sum(-w * delta, axis=0))


def sinks(q, k, v, do, logits, alpha):
    hooks = Hooks(start=begin, mask=causal_mask, keys=causal_keys, queries=causal_queries, extras=(logits,))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    delta = delta_preprocess(o, do)
    dz = torch.zeros_like(logits)
    B, H, S = lse.shape
    dz_kernel[(triton.cdiv(S, 64), H, B)](logits, lse, delta, dz, S, BLOCK=64)
    return o, lse, dq, dk, dv, dz
