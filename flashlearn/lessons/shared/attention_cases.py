"""Cases and inputs that the attention exercises of lessons 06 to 10 share: [B, H, S, D], causal or not."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Case, Inputs, Work
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.cases import build_case
from flashlearn.machine.memory import spans

FP16, BF16 = torch.float16, torch.bfloat16

MIXED_LAYOUTS = ("three layouts", "each tensor laid out its own way")
"""Data whose tensors differ in their layouts."""
OTHER_ALPHA = "alpha 0.4"
"""Data with an alpha that is not 1/√D."""
ZERO_QUERIES = "Q is 0"
"""Every score is 0: with a single key LSE is 0 as well, which is no sign that a query sees nothing."""


def attention_case(
    S_q: int,
    S_k: int,
    D: int = 32,
    B: int = 1,
    H: int = 1,
    dtype: torch.dtype = torch.float32,
    **more: object,
) -> Case:
    """One case of q [B, H, S_q, D] and k, v [B, H, S_k, D], named by its sizes."""
    label = f"S {S_q}" + (f" × {S_k}" if S_k != S_q else "") + f", D {D}"
    label += f", B·H {B * H}" if B * H > 1 else ""
    tags = {
        "ragged": bool(S_q % 16 or S_k % 16),
        "S_q ≠ S_k": S_q != S_k,
        "heads": B * H > 1,
        "padded D": bool(D & (D - 1)),
        "strided": "layout" in more or more.get("data") in MIXED_LAYOUTS,
        "GPU": bool(more.get("gpu")),
    }
    return build_case(label, {"B": B, "H": H, "S_q": S_q, "S_k": S_k, "D": D}, dtype, tags=tags, **more)


SHARED = (
    attention_case(16, 16, 16, seed=1),
    attention_case(1, 1, 16, seed=2),
    attention_case(37, 37, 16, B=2, H=3, seed=3),
    attention_case(64, 100, 32, seed=4),
    attention_case(100, 64, 32, seed=5),
    attention_case(1, 37, 8, seed=6),  # D below 16, the least that tl.dot can sum over
    attention_case(37, 16, 24, seed=7),  # D is no power of two, and S_q > S_k
    attention_case(128, 128, 64, seed=8),
    attention_case(64, 64, 64, dtype=FP16, seed=9),
    attention_case(37, 64, 32, dtype=BF16, seed=10),
    attention_case(33, 20, 16, H=2, layout="strided", seed=11),
    attention_case(64, 37, 16, data="negative alpha", seed=12),
)
"""For forward and backward alike; causal exercises meet queries that see no key wherever S_q > S_k."""

WIDE = (attention_case(5, 7, 80, seed=13), attention_case(3, 5, 136, seed=14, compiled=False))
"""D beyond the 64 and the 128 that people write into a kernel. Compilers take long for 136 in fp32."""

TILE_EDGES = (attention_case(64, 193, 16, seed=15), attention_case(9, 135, 16, seed=16))
"""For causal exercises, with blocks of 16 to 128. In the first case the last key that a block of queries
sees is the first of its tile; in the second the last key of a tile is all that the first query misses."""

ON_A_GPU = tuple(
    attention_case(S, S, 64, B=32, H=8, dtype=dtype, seed=30 + i, gpu=True)
    for i, (S, dtype) in enumerate([(128, FP16), (500, FP16), (1024, FP16), (500, BF16)])
)
REAL_SIZES = {"B": 32, "H": 16, "S": 65536, "D": 128}  # 2³² numbers in each of Q, K and V
TIMING = attention_case(1024, 1024, 64, B=32, H=8, dtype=FP16, gpu=True, seed=40)


def scale_of(case: Case) -> float:
    """alpha: 1/√D, or its negative or another number where the case says so."""
    if case.data == OTHER_ALPHA:
        return float(case.data.removeprefix("alpha "))
    alpha = 1 / math.sqrt(case.sizes["D"])
    return -alpha if case.data == "negative alpha" else alpha


LOW_SCORES = "scores near −120"


def low_scores(given: Inputs) -> Inputs:
    """Queries point away from all keys: every score is near −4 · 5.5², and LSE with them, where D is 16."""
    return {**given, "q": given["q"] / 2 - 5.5, "k": given["k"] / 2 + 5.5}


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [B, H, S_q, D], k and v [B, H, S_k, D], alpha."""
    q, k, v = (_draw(case, S, generator) for S in ("S_q", "S_k", "S_k"))
    if case.data == ZERO_QUERIES:
        q = torch.zeros_like(q)
    if case.data == "V near 10⁴":
        v = (v * 1000 + 10000).to(case.dtype)
    return {"q": q, "k": k, "v": v, "alpha": scale_of(case)}


def backward_inputs(case: Case, generator: torch.Generator, causal: bool = False) -> Inputs:
    """q, k, v, o, do, lse, alpha: what the forward pass saved, and the loss's derivative by O.

    o has the case's dtype; lse [B, H, S_q] is fp32.
    """
    given = forward_inputs(case, generator)
    do = _draw(case, "S_q", generator)
    alpha = given.pop("alpha")
    wide = {name: t.float() for name, t in given.items()}
    o, lse = by_heads(reference.attention_forward, **wide, alpha=alpha, causal=causal)
    return {**given, "o": o.to(case.dtype), "do": do, "lse": lse, "alpha": alpha}


def causal_backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The same for a causal forward pass."""
    return backward_inputs(case, generator, causal=True)


def _draw(case: Case, length: str, generator: torch.Generator) -> Tensor:
    sizes = case.sizes
    shape = (sizes["B"], sizes["H"], sizes[length], sizes["D"])
    values = (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
    if case.layout == "strided":  # [B, S, H, D] in memory, as a projection leaves it
        return values.transpose(1, 2).contiguous().transpose(1, 2)
    return values


def heads_innermost(x: Tensor) -> Tensor:
    """The same numbers [B, H, S, D], those of the heads side by side in memory, 50s between the batches.

    In memory that is [B, S + 1, D, H]: the stride of the batches is no other tensor's.
    """
    B, H, S, D = x.shape
    buffer = torch.full((B, S + 1, D, H), 50.0).to(x.dtype)
    buffer[:, :S] = x.permute(0, 2, 3, 1)
    return buffer[:, :S].permute(0, 3, 1, 2)


def pairs(inputs: Inputs, causal: bool = False) -> float:
    """Query–key pairs that are visible, over all heads."""
    q, k = inputs["q"], inputs["k"]
    S_q, S_k = q.shape[2], k.shape[2]
    seen = int(reference.visible(S_q, S_k, causal).sum()) if causal else S_q * S_k
    return float(q.shape[0] * q.shape[1] * seen)


def score_count(inputs: Inputs) -> int:
    """Elements of S over all heads, hidden ones included: as large as any intermediate of a reference."""
    q = inputs["q"]
    return q.shape[0] * q.shape[1] * q.shape[2] * inputs["k"].shape[2]


def by_heads(
    formula: Callable[..., tuple[Tensor, Tensor]], q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """O and LSE by a formula of as many heads each; of many heads, a few are computed at a time."""
    cuts = spans(q.shape[0] * q.shape[1], score_count({"q": q, "k": k}))
    if len(cuts) == 1:
        return formula(q, k, v, alpha, causal)
    heads = [t.flatten(0, 1) for t in (q, k, v)]
    parts = [formula(*(t[cut] for t in heads), alpha, causal) for cut in cuts]
    o, lse = map(torch.cat, zip(*parts, strict=True))
    return o.view(*q.shape[:-1], v.shape[-1]), lse.view(q.shape[:-1])


def products_work(inputs: Inputs, products: int, outputs: tuple[str, ...], causal: bool = False) -> Work:
    """`products` matrix products of 2·pairs·D operations; each input read once, each output written once."""
    tensors = [t for t in inputs.values() if isinstance(t, Tensor)]
    moved = sum(t.numel() * t.element_size() for t in tensors)
    moved += sum(inputs[like].numel() * inputs[like].element_size() for like in outputs)
    return Work(2.0 * products * pairs(inputs, causal) * inputs["q"].shape[-1], moved)
