"""Cases, inputs, least work and peers of this lesson's exercises: both passes of a variant at once.

>>> case = variant_case(33, 48, 16, H=4, seed=8, H_k=2)          # further sizes by name
>>> tensors(case, case.generator())                              # {"q": …, "k": …, "v": …, "do": …}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.exercise import Case, HowJudged, Inputs, Work
from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, heads_innermost, scale_of
from flashlearn.report.units import plural

LAYOUTS = "three layouts"
"""K, V and do are each laid out in their own way."""
OUTPUTS = ("o", "lse", "dq", "dk", "dv")
REAL_SIZES = {"B": 32, "H": 16, "S": 65536, "D": 128}
WORDS = {
    "H_k": lambda size: f"{plural(size, 'head')} of K",
    "window": "window {}".format,
    "cap": "cap {}".format,
}
"""How a case's name says its further sizes."""


def variant_case(S_q: int, S_k: int, D: int = 16, *, seed: int, **more: object) -> Case:
    """A case of attention with further sizes by name, `H_k` among them, which its name says."""
    further = {name: more.pop(name) for name in WORDS if name in more}
    case = attention_case(S_q, S_k, D, seed=seed, **more)
    spoken = [WORDS[name](size) for name, size in further.items()]
    return dataclasses.replace(
        case, name=", ".join([case.name, *spoken]), sizes={**case.sizes, **further}, tags=case.tags
    )


def common(**further: object) -> tuple[Case, ...]:
    """The cases that every variant has: ragged, unequal lengths, layouts, precisions, one key."""
    sizes = {name: further[name] for name in WORDS if name in further}
    heads = {"H": 2, **{name: size for name, size in further.items() if name not in WORDS}}
    of = {**heads, **sizes}
    return (
        variant_case(16, 16, 16, seed=1, **of),
        variant_case(37, 37, 16, seed=2, B=2, **of),
        variant_case(20, 69, 16, seed=3, **of),
        variant_case(69, 40, 24, seed=4, **of),
        variant_case(1, 70, 8, seed=5, **of),
        variant_case(33, 50, 16, seed=6, data=LAYOUTS, B=2, **of),
        variant_case(40, 40, 16, seed=7, layout="strided", **of),
        variant_case(33, 70, 32, seed=8, dtype=FP16, **of),
        variant_case(70, 70, 32, seed=9, dtype=BF16, **of),
        variant_case(37, 40, 16, seed=10, data="negative alpha", **of),
    )


def on_a_gpu(**further: object) -> tuple[Case, ...]:
    """Cases too large to observe."""
    of = {"B": 2, "H": 8, **further}
    return (
        variant_case(1000, 1000, 64, seed=30, dtype=FP16, gpu=True, **of),
        variant_case(500, 1500, 128, seed=31, dtype=BF16, gpu=True, **of),
    )


def timed_case(**further: object) -> Case:
    """What is timed on a GPU."""
    return variant_case(2048, 2048, 128, seed=40, dtype=BF16, gpu=True, B=2, H=16, **further)


def tensors(case: Case, generator: torch.Generator) -> Inputs:
    """q and do [B, H, S_q, D], k and v [B, H_k, S_k, D]; H_k is H where the case does not say it."""
    sizes = case.sizes
    H_k = sizes.get("H_k", sizes["H"])
    shapes = {"q": (sizes["H"], sizes["S_q"]), "k": (H_k, sizes["S_k"]), "v": (H_k, sizes["S_k"])}
    drawn = {
        name: _draw(case, heads, rows, generator)
        for name, (heads, rows) in {**shapes, "do": shapes["q"]}.items()
    }
    if case.data == LAYOUTS:
        drawn["k"], drawn["v"] = heads_innermost(drawn["k"]), drawn["v"].mT.contiguous().mT
        drawn["do"] = drawn["do"].permute(3, 2, 0, 1).contiguous().permute(2, 3, 1, 0)
    return drawn


def _draw(case: Case, heads: int, rows: int, generator: torch.Generator) -> Tensor:
    shape = (case.sizes["B"], heads, rows, case.sizes["D"])
    values = (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
    if case.layout == "strided":
        return values.transpose(1, 2).contiguous().transpose(1, 2)
    return values


def alpha_of(case: Case) -> float:
    """1/√D, or its negative."""
    return scale_of(case)


def work_of(seen: Callable[[Inputs], Tensor]) -> Callable[[Inputs], Work]:
    """Two products forward and five back over the visible pairs; everything read once and written once."""

    def work(inputs: Inputs) -> Work:
        q = inputs["q"]
        pairs = float(seen(inputs).sum()) * q.shape[0] * q.shape[1]
        moved = sum(t.numel() * t.element_size() for t in inputs.values() if isinstance(t, Tensor))
        written = sum(inputs[name].numel() * inputs[name].element_size() for name in ("q", "q", "k", "v"))
        return Work(14.0 * pairs * q.shape[-1], moved + written + 4.0 * q[..., 0].numel())

    return work


def score_count(inputs: Inputs) -> int:
    """Elements of S over all heads."""
    q = inputs["q"]
    return q.shape[0] * q.shape[1] * q.shape[2] * inputs["k"].shape[2]


def judged(
    reference: Callable, twins: tuple[Callable, ...], seen: Callable[[Inputs], Tensor], **more: object
) -> HowJudged:
    """How both passes of a variant are judged."""
    return HowJudged(
        reference=reference,
        twins=twins,
        gradient=True,
        output_dtypes={"lse": torch.float32},
        work=work_of(seen),
        grows=score_count,
        **more,
    )


def every_key(inputs: Inputs) -> Tensor:
    """[S_q, S_k]: nothing is hidden."""
    return torch.ones(inputs["q"].shape[2], inputs["k"].shape[2], dtype=torch.bool)


def earlier_keys(inputs: Inputs) -> Tensor:
    """[S_q, S_k]: causal, and within the window where the inputs have one."""
    like = torch.empty(0)
    return passes.visible(inputs["q"].shape[2], inputs["k"].shape[2], like, inputs.get("window"))


def sdpa_passes(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, mask: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Both passes of torch's scaled_dot_product_attention with a mask of its own, True where a key is seen,
    or a bias."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    with torch.enable_grad():
        o = scaled_dot_product_attention(
            *leaves, attn_mask=mask, scale=alpha, enable_gqa=q.shape[1] != k.shape[1]
        )
    return o.detach(), *torch.autograd.grad(o, leaves, do)
