"""The named mistakes of lesson 06: what people get wrong in FlashAttention's forward pass.

Most are one line of the kernel's own loop, which `scan` has in torch; what torch cannot say is one of
faulty_kernels.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_06_flash_forward import faulty_kernels as broken
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.lessons.shared.named_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.named_mistakes.forward import forward
from flashlearn.outcome import Status


def kernels(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        "accumulator in half precision": Mistake(
            "acc is carried in the dtype of q. fp16 overflows at 65504, long before acc / l_i would, and "
            "every addition rounds to 11 bits (8 in bf16).",
            "Keep m_i, l_i and acc in tl.float32; convert once, in front of the store.",
            launcher=broken.launcher("accumulator in half", causal),
        ),
        "P cast to fp16 whatever V is": Mistake(
            "P is converted to fp16 by name. tl.dot wants both operands of one dtype: with V in bf16 or "
            "fp32 the kernel does not compile.",
            "Write p.to(v.dtype): it is right for whatever V holds.",
            launcher=broken.launcher("p in fp16", causal),
            status=Status.CRASHED,
        ),
        "l sums over the queries": Mistake(
            "l_i is a sum along the wrong axis of p: over the block's queries, for each key. The shapes fit "
            "because the tile is square.",
            "A row of p is a query, a column a key: l_i sums along the row, tl.sum(p, axis=1).",
            launcher=broken.launcher("sum along the queries", causal),
        ),
        "the first tile again and again": Mistake(
            "Every step reads the first tile of K and V, and the keys from BLOCK_K on are never seen. With a "
            "single tile of keys the answer is right.",
            "The keys of a step are start + keys: use them in both addresses, and in both masks.",
            launcher=broken.launcher("first tile again", causal),
        ),
        "K is not transposed": Mistake(
            "The product takes k as it was loaded, [BLOCK_K, BLOCK_D]. Q Kᵀ sums over D, so the second "
            "operand must be [BLOCK_D, BLOCK_K].",
            "tl.dot(q, tl.trans(k)), or load the tile with its two index vectors exchanged.",
            launcher=broken.launcher("k not transposed", causal),
            status=Status.CRASHED,
        ),
        "keys loaded without a mask": Mistake(
            "The last tile reaches beyond S_k, and for the last head beyond the tensor.",
            "Mask the load with columns < S_k (and d < D), with other=0.0.",
            launcher=broken.launcher("keys without a mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
        "D is not masked": Mistake(
            "BLOCK_D is D rounded up to a power of two, 16 at least: the columns from D on belong to the "
            "next row, and in the last row to nobody.",
            "Every load and store of a tile needs d < D in its mask.",
            launcher=broken.launcher("D without a mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
        "strides of q used for k": Mistake(
            "K is read with the strides of Q. They agree only if both have one layout and one length.",
            "Address K with k_batch, k_head, k_row and k_col (and V with its own four).",
            launcher=broken.launcher("strides of q for k", causal),
        ),
    }


FORWARD = {
    **forward(faulty_formula(scan, causal=False)),
    **kernels(causal=False),
    "the mask of keys lies along the queries": Mistake(
        "s is masked along the wrong axis: where the tile lacks a key, a query's row is set to −inf, and "
        "the padded keys still take part. The shapes fit because the tile is square.",
        'Keys are the columns of s: tl.where((columns < S_k)[None, :], s, -float("inf")).',
        launcher=broken.launcher("mask along the queries"),
    ),
}

CAUSAL = {**causal_forward(faulty_formula(scan, causal=True)), **kernels(causal=True)}

# ---------------------------------------------------------------- one kernel for both

TWO_KERNELS = (
    "The numbers are right, but they come from two kernels: {kernels}. Make them one, whose flag says at "
    "compile time where the loop ends and what is masked."
)
"""What is right and not what was asked: `exercises.one_kernel` finds it."""


def _whatever_the_flag(causal: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """The right forward pass with, or without, a causal mask: what was asked for is not looked at."""

    def attention(q: Tensor, k: Tensor, v: Tensor, alpha: float, **flag: bool) -> tuple[Tensor, Tensor]:
        return scan(q, k, v, alpha, causal=causal)

    return attention


_scan = faulty_formula(scan)
EITHER = {
    name: mistake
    for name, mistake in causal_forward(_scan).items()
    if name not in forward(_scan)  # what has passed twice is not asked again
    and name != "no causal mask"  # that is the flag which nobody looks at
} | {
    "padded keys are not masked": forward(_scan)["padded keys are not masked"],  # the flag may take it along
    "no mask, whatever the flag says": Mistake(
        "Every query sees all keys, also where causal is True.",
        "Which lines stand under `if IS_CAUSAL:`, and does the launcher pass what it was given?",
        wrong=_whatever_the_flag(False),
    ),
    "a mask, whatever the flag says": Mistake(
        "Later keys are hidden also where causal is False.",
        "Which lines must stand under `if IS_CAUSAL:`, and does the launcher pass what it was given?",
        wrong=_whatever_the_flag(True),
    ),
}
