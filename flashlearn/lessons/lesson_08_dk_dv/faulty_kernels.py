"""dK and dV kernels with a few lines exchanged: the mistakes that no formula in torch can make.

"strides of q" and "no mask" are declared as mistakes; the lesson's text runs the other three to show which
way of filling padded queries leaks.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.kernels import flash_backward_dkv as kernels
from flashlearn.lessons.shared.attention_mistakes.gradients import strides_of_q
from flashlearn.lessons.shared.variants import Edits, variant
from flashlearn.outcome import Status

__all__ = ["faulty_dkv", "kernel_mistakes"]

_DO = "tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)"
_LSE = "lse_i = tl.load(lse_ptr + rows, mask=in_queries, other={})"
_IN_QUERIES = "        in_queries = rows < S_q\n"

EDITS: dict[str, Edits] = {
    "": (),
    "strides of q": (
        ("k_ptr += b * k_batch + h * k_head", "k_ptr += b * q_batch + h * q_head"),
        ("columns[:, None] * k_row + d[None, :] * k_col", "columns[:, None] * q_row + d[None, :] * q_col"),
    ),
    "no mask": ((_DO, f"tl.where(in_tile, {_DO.replace(', mask=in_tile, other=0.0', '')}, 0.0)"),),
    "LSE filled with 0": ((_LSE.format('float("inf")'), _LSE.format("0.0")),),
    "LSE filled with -inf": ((_LSE.format('float("inf")'), _LSE.format('-float("inf")')),),
    "clamped rows": (  # no lane is out of bounds, so none is masked
        (_IN_QUERIES, "        rows = tl.minimum(rows, S_q - 1)\n        in_queries = rows >= 0\n"),
    ),
}
"""What is exchanged for what, with and without a causal mask."""


def faulty_dkv(fault: str, causal: bool = False) -> Callable[..., tuple[Tensor, Tensor]]:
    """The launcher `dkv_kernel`, or `dkv_kernel_causal`, with one fault of EDITS; "" is the right one."""
    if causal:
        return variant(kernels.dkv_kernel_causal, kernels.flash_dkv_causal_kernel, edits=EDITS[fault])
    return variant(kernels.dkv_kernel, kernels.flash_dkv_kernel, edits=EDITS[fault])


def kernel_mistakes(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        **strides_of_q(faulty_dkv("strides of q", causal)),
        "load of dO without a mask": Mistake(
            "A load of Q or dO reaches beyond the last query, or beyond the last column.",
            "Lanes beyond the last query or the last column are masked, with zeros in their place.",
            launcher=faulty_dkv("no mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
    }
