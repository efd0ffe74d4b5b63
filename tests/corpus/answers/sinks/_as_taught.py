# part: a text that answers change

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def sink_start(b, h, extras):
    logits_ptr = extras[0]
    return tl.load(logits_ptr + h), 1.0


@triton.jit
def sink_gradient_kernel(logits_ptr, lse_ptr, delta_ptr, dlogits_ptr, B, H, S, BLOCK: tl.constexpr):
    h = tl.program_id(0).to(tl.int64)
    logit = tl.load(logits_ptr + h)
    total = tl.zeros((BLOCK,), tl.float32)
    for b in range(B):
        for start in range(0, S, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            at = (b * H + h) * S + rows
            lse = tl.load(lse_ptr + at, mask=rows < S, other=float("inf"))
            delta = tl.load(delta_ptr + at, mask=rows < S, other=0.0)
            total += tl.exp(logit - lse) * delta
    tl.store(dlogits_ptr + h, -tl.sum(total))


def sinks(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    B, H, S_q, _ = q.shape
    hooks = Hooks(
        start=sink_start, extras=(logits,), mask=causal_mask, keys=causal_keys, queries=causal_queries
    )
    o, lse = hooked_forward(q, k, v, alpha, hooks)
    gradients = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
    dlogits = torch.empty_like(logits)
    BLOCK = min(1024, triton.next_power_of_2(S_q))
    sink_gradient_kernel[(H,)](logits, lse, delta_preprocess(o, do), dlogits, B, H, S_q, BLOCK=BLOCK)
    return o, lse, *gradients, dlogits
