"""What the backward kernels of lessons 07 to 10 share: cases, inputs, references, least work, the peer.

SHARED of attention_cases has the sizes; a backward pass needs a few more draws, each for a fault that
the others would not show: heads of Q and K with different strides, tensors laid out each in its own way,
dP and delta that are large and nearly equal, sums over several tiles in half precision, and scores so
low that exp(0 − LSE) overflows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Inputs
from flashlearn.lessons.shared import attention_cases, reference
from flashlearn.lessons.shared.attention_cases import (
    BF16,
    FP16,
    LOW_SCORES,
    ON_A_GPU,
    SHARED,
    WIDE,
    attention_case,
    heads_innermost,
    low_scores,
)
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.lessons.shared.tiled_twins import gradients_in_tiles, other_order
from flashlearn.running.answer import Answer

ONE_KEY = attention_case(1, 1, 16, B=3, H=2, seed=2)
"""dS = 0 here, up to rounding; six heads, since the error of one number alone is luck."""

_COMMON = (
    *(ONE_KEY if case.sizes["S_k"] == 1 else case for case in SHARED),
    attention_case(33, 20, 16, B=2, H=2, seed=50),
    attention_case(69, 70, 16, B=2, H=2, data="each tensor laid out its own way", seed=51),
    attention_case(40, 48, 32, dtype=FP16, data="one column of V is 64", seed=52),
    attention_case(18, 37, 16, data=LOW_SCORES, seed=55),
    *WIDE,
    *ON_A_GPU,
)
MANY_KEYS = (
    *_COMMON,
    attention_case(16, 1025, 16, dtype=FP16, seed=53),
    attention_case(530, 16, 16, dtype=BF16, seed=54),
)
"""For a kernel that scans keys: 1025 of them, so the last tile has one, whatever its size."""
MANY_QUERIES = (
    *_COMMON,
    attention_case(16, 530, 16, dtype=FP16, seed=53),
    attention_case(1025, 16, 16, dtype=BF16, seed=54),
)
"""The same for one that scans queries."""


def _large_mean(given: Inputs) -> Inputs:
    """V[:, 0] = 64, hence O[:, 0] = 64 without rounding: dP = 64 dO[:, 0] + …, and delta the same."""
    v = given["v"].clone()
    v[..., 0] = 64.0
    return {**given, "v": v}


def _own_layouts(given: Inputs) -> Inputs:
    """Columns of K, V and dO are each another number of elements apart; the others are contiguous.

    K is [B, S, D, H] in memory, V [B, H, D, S], dO [D, S, B, H].
    """
    return {
        **given,
        "k": heads_innermost(given["k"]),
        "v": given["v"].mT.contiguous().mT,
        "do": given["do"].permute(3, 2, 0, 1).contiguous().permute(2, 3, 1, 0),
    }


def _cancelling_halves(given: Inputs) -> Inputs:
    """All keys are around 4, and V and dO around 4 in their first half and around −4 in the other.

    What one tile adds to a gradient is large, and what another adds takes most of it back.
    """

    def by_halves(x: Tensor) -> Tensor:
        S = x.shape[-2]
        return torch.where(torch.arange(S)[:, None] < S // 2, x + 4, x - 4)

    return {**given, "k": given["k"] + 4, "v": by_halves(given["v"]), "do": by_halves(given["do"])}


def _around_four(given: Inputs) -> Inputs:
    """All keys and values are around 4: the sums over the keys are large, and dQ is not."""
    return {**given, "k": given["k"] + 4, "v": given["v"] + 4}


SPECIAL: dict[str, Callable[[Inputs], Inputs]] = {
    "one column of V is 64": _large_mean,
    LOW_SCORES: low_scores,
    "each tensor laid out its own way": _own_layouts,
    "halves that cancel": _cancelling_halves,
    "K and V around 4": _around_four,
}


def backward_inputs(case: Case, generator: torch.Generator, causal: bool = False) -> Inputs:
    """q, k, v, o, do, lse, alpha of the case; o and lse belong to the special q, k, v where it has them."""
    given = attention_cases.backward_inputs(case, generator, causal)
    if case.data not in SPECIAL:
        return given
    given = SPECIAL[case.data](given)
    q, k, v = (given[name].float() for name in ("q", "k", "v"))
    o, lse = reference.attention_forward(q, k, v, given["alpha"], causal)
    return {**given, "o": o.to(case.dtype), "lse": lse}


def causal_backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The same for a causal forward pass."""
    return backward_inputs(case, generator, causal=True)


# ---------------------------------------------------------------- references and twins, by output

Gradients = Callable[..., tuple[Tensor, Tensor, Tensor]]


def twins(only: Callable[[Gradients, bool], Callable], causal: bool) -> tuple[Callable, ...]:
    """The twins of an exercise whose outputs `only` picks: P and dS rounded, and sums in tiles, both ways."""
    spellings = (reference.attention_gradients_rounded, gradients_in_tiles, other_order(gradients_in_tiles))
    return tuple(only(spelling, causal) for spelling in spellings)


# ---------------------------------------------------------------- what timing compares with


def sdpa_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV at once from torch's FlashAttention: what autograd calls for SDPA's flash backend.

    It computes all three: a kernel for dQ alone, or for dK and dV alone, has less to do. Causal
    masks are top-left here, which is the same for S_q = S_k.
    """
    if not q.is_cuda:
        backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        return backward(do, q, k, v, o, lse, 0.0, causal, scale=alpha)
    backward = torch.ops.aten._scaled_dot_product_flash_attention_backward
    no_seed = torch.zeros((), dtype=torch.int64, device=q.device)  # unused without dropout
    S_q, S_k = q.shape[2], k.shape[2]
    return backward(
        do, q, k, v, o, lse, None, None, S_q, S_k, 0.0, causal, no_seed, no_seed, scale=alpha
    )  # fmt: skip


def sdpa_backward_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same for a causal forward pass."""
    return sdpa_backward(q, k, v, o, do, lse, alpha, causal=True)


# ---------------------------------------------------------------- a causal kernel skips hidden tiles


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which nothing is visible, else nothing."""
    case = attention_case(256, 256, 16, seed=60)
    return hidden_tiles_sentence(hidden_tiles(answer, causal_backward_inputs(case, case.generator())))


def hidden_tiles_sentence(count: int) -> str:
    """What is said of a kernel that multiplies so many hidden tiles at S 256; nothing of none."""
    if not count:
        return ""
    tiles = "a tile" if count == 1 else f"{count} tiles"
    return (
        f"The result is right, but at S 256 your kernel multiplies {tiles} of queries and keys in which no "
        "query sees a key. Let the loop leave them out."
    )
