"""What the three exercises share: cases, inputs, work, and what they are compared with."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from flashlearn.exercise import Case, Earlier, Inputs, Work
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import (
    FP16,
    LOW_SCORES,
    SHARED,
    WIDE,
    attention_case,
    forward_inputs,
    heads_innermost,
    low_scores,
    products_work,
)
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.lessons.shared.tiled_twins import ORDERS, forward_in_tiles
from flashlearn.running.answer import Answer

LAYOUTS = "three layouts"  # q contiguous, k [B, S, D, H] in memory, v with D and S exchanged in memory

FALLING = "scores falling by 120"  # those of the keys from 128 on: between two tiles of 16 to 128 keys
RISING = (
    "scores rising by 40"  # the same: the weights of the first are 0 then, exp(40) is more than fp16 holds
)

SINGLE = (  # a query per head; six heads, since the error of one number alone is luck
    attention_case(1, 1, 16, B=2, H=3, magnitude=3000.0, seed=2),  # scores to −10⁷
    attention_case(1, 37, 16, B=2, H=3, seed=6),
)
LARGE = (
    attention_case(37, 64, 16, magnitude=10.0, seed=20),
    attention_case(20, 37, 16, magnitude=30.0, seed=21),
    attention_case(32, 64, 32, dtype=FP16, data="V near 10⁴", seed=22),
)
BOTH = (
    *(case for case in SHARED if case.sizes["S_q"] > 1),
    *SINGLE,
    *LARGE,
    attention_case(4, 3, 2, seed=60),  # the running example's sizes: D below 16
    attention_case(20, 37, 16, B=3, H=2, data=LAYOUTS, seed=61),
    dataclasses.replace(
        attention_case(20, 37, 16, magnitude=10.0, data="negative alpha", seed=62),
        name="S 20 × 37, D 16, values ×10, negative alpha",
    ),
    attention_case(8, 200, 16, data=FALLING, seed=64),  # exp(120) is more than fp32 holds
    attention_case(8, 200, 16, dtype=FP16, data=RISING, seed=73),
    attention_case(2, 1025, 16, seed=65),  # the last tile has one key, whatever its size
    attention_case(270, 3, 16, seed=66),  # more queries than fit in one block
    *WIDE,
)
LOW_ROWS = attention_case(20, 1, 16, magnitude=10.0, seed=63)  # their only score is far below zero
LOW_LAST_TILE = attention_case(18, 37, 16, data=LOW_SCORES, seed=72)
"""Under a causal mask some queries see nothing of the last tile, and far below zero is all that they see."""
LOW_FIRST_ROW = attention_case(37, 37, 16, magnitude=10.0, seed=71)  # causal: the first query sees one key


def head_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [B, H, S_q, D], k and v [B, H, S_k, D], alpha; in LAYOUTS each tensor has another kind of strides.

    In FALLING the first of the D products is 60 for the first 128 keys and −60 for the rest; in RISING it is
    −20, then 20.
    """
    given = forward_inputs(case, generator)
    if case.data == LAYOUTS:
        given |= {"k": heads_innermost(given["k"]), "v": given["v"].mT.contiguous().mT}
    if case.data == LOW_SCORES:
        given = low_scores(given)
    if case.data in (FALLING, RISING):
        first, rest = (60.0, -60.0) if case.data == FALLING else (-20.0, 20.0)
        step = torch.where(torch.arange(case.sizes["S_k"]) < 128, first, rest)
        given["q"][..., 0], given["k"][..., 0] = 1.0, step / given["alpha"]
    return given


def forward_work(given: Inputs, causal: bool = False) -> Work:
    """Two products over the visible pairs; Q, K, V read once, O and the fp32 LSE written once."""
    least = products_work(given, 2, ("q",), causal)
    q = given["q"]
    return Work(least.operations, least.bytes + 4.0 * q.shape[0] * q.shape[1] * q.shape[2])


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which no key is seen, else nothing."""
    case = attention_case(256, 256, 16, seed=65)
    return hidden_tiles_sentence(hidden_tiles(answer, head_inputs(case, case.generator())))


def hidden_tiles_sentence(count: int) -> str:
    if not count:
        return ""
    tiles = "a tile" if count == 1 else f"{count} tiles"
    return (
        f"The result is right, but at S 256 your kernel multiplies {tiles} of queries and keys in which no "
        "query sees a key. Let the loop end after the tile that holds the last key that the block's last "
        "query sees."
    )


def sdpa_flash(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """Torch's own FlashAttention-2."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=alpha)


def sdpa_flash_causal(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The same, causal; torch aligns top-left, which is the same for S_q = S_k."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=alpha, is_causal=True)


def other_order(q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False) -> tuple[Tensor, Tensor]:
    """Scores summed over D in reverse order: fp32 sums depend on their order."""
    return reference.attention_forward(q.flip(-1), k.flip(-1), v, alpha, causal)


def other_order_in_tiles(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same where q is scaled first and sums are made in tiles."""
    return forward_in_tiles(q.flip(-1), k.flip(-1), v, alpha, causal)


SAME_PRECISION = (
    reference.attention_forward_rounded,
    reference.attention_forward_base2,
    other_order,
    forward_in_tiles,
    other_order_in_tiles,
    *ORDERS,
)
