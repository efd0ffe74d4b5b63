"""Answers to lesson 03 that passed when they were new: what they show is asked for now."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_backward",
    "The row maximum of Q Kᵀ is subtracted before multiplying by alpha. For a negative alpha "
    "that is the smallest score, not the largest, and the exponentials overflow to inf / inf.",
    "maximum before alpha",
)(
    written(
        """
from torch import Tensor

def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    qk = q @ k.T
    e = torch.exp(alpha * (qk - qk.amax(dim=1, keepdim=True)))  # safe softmax
    p = e / e.sum(dim=1, keepdim=True)
    dv = p.T @ do
    dp = do @ v.T
    delta = (p * dp).sum(dim=1, keepdim=True)
    ds = alpha * p * (dp - delta)
    return ds @ k, ds.T @ q, dv
""",
        title="maximum taken before alpha",
    )
)

wrong(
    "delta_preprocess",
    "delta is stored as [H, B, S], and the products are rounded to half precision before they are summed.",
    "permuted heads + precision",
)(
    written(
        """
@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr, S, D, ob, oh, os_, od, gb, gh, gs, gd,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, COLS)
    keep = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * ob + h * oh + i[:, None] * os_ + d[None, :] * od, mask=keep, other=0.0)
    do = tl.load(do_ptr + b * gb + h * gh + i[:, None] * gs + d[None, :] * gd, mask=keep, other=0.0)
    delta = tl.sum((o * do).to(tl.float32), axis=1)
    tl.store(delta_ptr + (h * tl.num_programs(2) + b) * S + i, delta, mask=i < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    delta_kernel[(triton.cdiv(S, 32), H, B)](
        o, do, delta, S, D, *o.stride(), *do.stride(), ROWS=32, COLS=triton.next_power_of_2(D)
    )
    return delta
""",
        title="batch and head exchanged, and products in half precision",
    )
)
