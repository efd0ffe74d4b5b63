"""dQ kernels with a few lines exchanged: the mistakes that no formula in torch can make.

"strides of q" and "no mask" are declared as mistakes. "delta in the loop" is right and wasteful, and
"cast to fp16" right for fp16 alone: the lesson's text runs both.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.kernels import flash_backward_dq as kernels
from flashlearn.lessons.shared.attention_mistakes.gradients import strides_of_q
from flashlearn.lessons.shared.variants import Edits, variant
from flashlearn.outcome import Status

__all__ = ["faulty_dq", "kernel_mistakes"]

_K = "tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)"
_O = "tl.load(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, mask=in_block, other=0.0)"
_DELTA = "delta_i = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)"
_DS = "        ds = p * (dp - delta_i[:, None])\n"

EDITS: dict[str, Edits] = {
    "": (),
    "strides of q": (
        ("k_ptr += b * k_batch + h * k_head", "k_ptr += b * q_batch + h * q_head"),
        ("columns[:, None] * k_row + d[None, :] * k_col", "columns[:, None] * q_row + d[None, :] * q_col"),
    ),
    "no mask": ((_K, f"tl.where(in_tile, {_K.replace(', mask=in_tile, other=0.0', '')}, 0.0)"),),
    "delta in the loop": (
        ("lse_ptr, delta_ptr, dq_ptr, alpha", "lse_ptr, o_ptr, dq_ptr, alpha"),
        ("do_row, do_col, dq_batch", "do_row, do_col, o_batch, o_head, o_row, o_col, dq_batch"),
        ("delta_ptr += (b * H + h) * S_q", "o_ptr += b * o_batch + h * o_head"),
        ("    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)\n", ""),
        (_DS, f"        o = {_O}\n        {_DELTA}\n{_DS}"),
        ("delta = delta_preprocess(o, do)", "assert o.shape == q.shape"),
        ("lse.contiguous(), delta, dq", "lse.contiguous(), o, dq"),
        ("*do.stride(), *dq.stride()", "*do.stride(), *o.stride(), *dq.stride()"),
    ),
    "cast to fp16": (("ds.to(k.dtype)", "ds.to(tl.float16)"),),
}
"""What is exchanged for what, with and without a causal mask."""


def faulty_dq(fault: str, causal: bool = False) -> Callable[..., Tensor]:
    """The launcher `dq_kernel`, or `dq_kernel_causal`, with one fault of EDITS; "" is the right one."""
    if causal:
        return variant(kernels.dq_kernel_causal, kernels.flash_dq_causal_kernel, edits=EDITS[fault])
    return variant(kernels.dq_kernel, kernels.flash_dq_kernel, edits=EDITS[fault])


def kernel_mistakes(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        **strides_of_q(faulty_dq("strides of q", causal)),
        "load of K without a mask": Mistake(
            "A load of K or V reaches beyond the last key, or beyond the last column.",
            "Lanes beyond the last key or the last column are masked, with zeros in their place.",
            launcher=faulty_dq("no mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
    }
