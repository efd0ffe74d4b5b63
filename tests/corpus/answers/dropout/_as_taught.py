# part: a text that answers change

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def kept_weights(x, b, h, i, j, S_q, S_k, extras):
    p, seed, H = extras
    position = ((b * H + h) * S_q + i) * S_k + j
    return tl.where(tl.rand(seed, position) >= p, x / (1 - p), 0.0)


def dropout(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    hooks = Hooks(weights=kept_weights, extras=(p, seed, q.shape[1]))
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
