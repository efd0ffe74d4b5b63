"""Forward kernels with a few lines exchanged: mistakes that a formula in torch cannot make."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.kernels import flash_forward as kernels
from flashlearn.lessons.shared.variants import Edits, variant
from flashlearn.outcome import Status

__all__ = ["EDITS", "faulty_forward", "kernel_mistakes"]

_K = "tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)"
_SUM = 'acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")'

EDITS: dict[str, Edits] = {
    "accumulator in half": (
        ("acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)", "acc = tl.zeros((BLOCK_Q, BLOCK_D), q.dtype)"),
        (_SUM, f"{_SUM.replace('= ', '= (', 1)}).to(acc.dtype)"),
    ),
    "keys without a mask": ((_K, _K.replace(", mask=in_tile, other=0.0", "")),),
    "D without a mask": (("in_d = d < D\n", "in_d = d < BLOCK_D\n"),),
    "strides of q for k": (
        ("k_ptr += b * k_batch + h * k_head", "k_ptr += b * q_batch + h * q_head"),
        ("columns[:, None] * k_row + d[None, :] * k_col", "columns[:, None] * q_row + d[None, :] * q_col"),
    ),
    "k not transposed": (("tl.trans(k)", "k"),),
    "p in fp16": (("p.to(v.dtype)", "p.to(tl.float16)"),),
    "sum along the queries": (("tl.sum(p, axis=1)", "tl.sum(p, axis=0)"),),
    "mask along the queries": (("in_keys[None, :]", "in_keys[:, None]"),),
    "first tile again": (("columns = start + keys", "columns = keys"),),
}
"""What is exchanged for what, with and without a causal mask."""


def faulty_forward(fault: str, causal: bool = False) -> Callable[..., tuple[Tensor, Tensor]]:
    """The launcher `flash_forward`, or `flash_forward_causal`, with one fault of EDITS."""
    if causal:
        return variant(kernels.flash_forward_causal, kernels.flash_forward_causal_kernel, edits=EDITS[fault])
    return variant(kernels.flash_forward, kernels.flash_forward_kernel, edits=EDITS[fault])


def kernel_mistakes(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        "accumulator in half precision": Mistake(
            "The sum of O is carried in half precision, or what is added to it is. fp16 overflows at "
            "65504, long before the quotient would, and every addition rounds to 11 bits (8 in bf16).",
            "Keep all running sums and what is added to them in tl.float32; convert once, before the store.",
            launcher=faulty_forward("accumulator in half", causal),
        ),
        "P cast to fp16 whatever V is": Mistake(
            "The product with V has an operand that is fp16 whatever V is. tl.dot needs both operands to "
            "have one dtype: with V in bf16 or fp32 the kernel does not compile.",
            "The tile's own `.dtype` is right whatever V holds.",
            launcher=faulty_forward("p in fp16", causal),
            status=Status.CRASHED,
        ),
        "l sums over the queries": Mistake(
            "The sum l runs along the wrong axis of P's tile: over the block's queries, for each key. The "
            "shapes fit because the tile is square.",
            "l sums over keys: which axis of the tile counts those?",
            launcher=faulty_forward("sum along the queries", causal),
        ),
        "the first tile again and again": Mistake(
            "Every step reads the first tile of K and V, and later keys are never seen. With a single tile "
            "of keys that makes no difference.",
            "From step to step the keys move on by a tile.",
            launcher=faulty_forward("first tile again", causal),
        ),
        "K is not transposed": Mistake(
            "In the product of Q and K, the second operand is not transposed. The product sums over D, so "
            "the rows of its second operand must count the components.",
            "Transpose that tile once: after the load, or by its addresses.",
            launcher=faulty_forward("k not transposed", causal),
            status=Status.CRASHED,
        ),
        "keys loaded without a mask": Mistake(
            "The last tile reaches beyond S_k, and for the last head beyond the tensor.",
            "A mask keeps the keys from S_k on away from memory; other= gives them zeros.",
            launcher=faulty_forward("keys without a mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
        "D is not masked": Mistake(
            "BLOCK_D is D rounded up to a power of two, 16 at least: the columns from D on belong to the "
            "next row, and in the last row lie outside the tensor.",
            "Every load and store of a tile needs a mask for its columns as well as for its rows.",
            launcher=faulty_forward("D without a mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
        "strides of q used for k": Mistake(
            "K or V is read with a stride of Q's. They agree only if both have the same layout and length.",
            "K and V have four strides each, of their own.",
            launcher=faulty_forward("strides of q for k", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
    }
