"""`alibi`: every head takes off its slope times the distance of a key."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowTimed, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.lesson_15_variants import variant_cases as cases
from flashlearn.lessons.lesson_15_variants.variant_cases import variant_case
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula


def slopes_of(H: int) -> Tensor:
    """[H] in fp32: 2^(−8/H), 2^(−16/H), … (Press et al., 2022, section 3)."""
    return torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])


def with_distances(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, alpha: float,
    spelling: passes.Spelling = passes.both, bias: Tensor | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Both passes of causal attention with s = x − slope · (i + S_k − S_q − j), or with another bias."""
    S_q, S_k = q.shape[2], k.shape[2]
    bias = bias_of(q, k, slopes) if bias is None else bias
    return spelling(
        q, k, v, do, alpha, score=lambda x: x + bias.to(x.dtype), seen=passes.visible(S_q, S_k, q)
    )


def bias_of(q: Tensor, k: Tensor, slopes: Tensor) -> Tensor:
    """[H, S_q, S_k]: minus the slope of the head times the distance."""
    return -passes.wide(slopes).view(-1, 1, 1) * passes.distances(q.shape[2], k.shape[2], q)


def faulty_alibi(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, alpha: float, faults: Faults = NONE
) -> tuple[Tensor, ...]:
    """Both passes, with faults of the bias."""
    B, H, S_q, _ = q.shape
    S_k = k.shape[2]
    slopes = passes.wide(slopes)
    distance = passes.distances(S_q, S_k, q)
    if "top-left" in faults:
        distance = distance - (S_k - S_q)
    if "places" in faults:
        distance = -torch.arange(S_k, device=q.device).to(distance.dtype).expand(S_q, -1)
    if "one more" in faults:
        distance = distance + 1
    if "squared" in faults:
        distance = distance**2
    per_head = slopes.view(1, H, 1, 1)
    if "the first slope" in faults:
        per_head = slopes[:1].view(1, 1, 1, 1)
    if "the last slope" in faults:
        per_head = slopes[-1:].view(1, 1, 1, 1)
    if "the other end" in faults:
        per_head = slopes.flip(0).view(1, H, 1, 1)
    if "slope of the batch" in faults:
        per_head = slopes[torch.arange(B, device=q.device).clamp(max=H - 1)].view(B, 1, 1, 1)
    if "times alpha" in faults:
        per_head = per_head * alpha
    bias = per_head * distance if "sign" in faults else -per_head * distance
    if "no bias" in faults:
        bias = torch.zeros_like(bias)
    seen = passes.visible(S_q, S_k, q)
    o, lse = passes.forward(q, k, v, alpha, lambda x: x + bias, seen)
    again = passes.same if "no bias again" in faults else (lambda x: x + bias)
    return o, lse, *passes.gradients(q, k, v, o, do, lse, alpha, again, seen=seen)


formula = faulty_formula(faulty_alibi)

MISTAKES = {
    "far keys are preferred": Mistake(
        "The bias has the opposite sign: scores grow with the distance of a key.",
        "Which of two equal keys should have the larger score, the near one or the far one?",
        **formula("sign"),
    ),
    "the first head's slope for all": Mistake(
        "Every head has the slope of head 0.",
        "Head h has slopes[h].",
        **formula("the first slope"),
    ),
    "one slope for all, the last": Mistake(
        "Every head has the slope of the last head.",
        "Head h has slopes[h].",
        **formula("the last slope"),
    ),
    "slopes in the reverse order": Mistake(
        "The slopes are given to the heads in the reverse order.",
        "Head h has slopes[h].",
        **formula("the other end"),
    ),
    "the slope of the batch": Mistake(
        "The slope is looked up with the number of the batch, where it belongs to the head.",
        "Head h has slopes[h] in every batch entry.",
        **formula("slope of the batch"),
    ),
    "distance from the top-left": Mistake(
        "LSE is off by the slope times S_k − S_q: the distance was taken as i − j, where query i is at the "
        "place of key i + S_k − S_q. What all scores of a row have in common cancels in O and the "
        "gradients, apart from rounding.",
        "Which key has the distance 0 from the last query?",
        **formula("top-left"),
    ),
    "the place instead of the distance": Mistake(
        "Slope times j was added instead of slope times the distance taken off. The softmax does not see "
        "what all scores of a row have in common; LSE does.",
        "The key at the query's own place has the bias 0.",
        **formula("places"),
    ),
    "one step too far": Mistake(
        "Every distance is larger by 1: LSE is off by the slope. The key at the query's own place has "
        "distance 0.",
        "The key at the query's own place has the bias 0.",
        **formula("one more"),
    ),
    "alpha on the bias": Mistake(
        "The bias was multiplied by alpha, as if it were added to q · k before the scale.",
        "S is alpha q · k − slope · distance.",
        **formula("times alpha"),
    ),
    "no bias in the backward pass": Mistake(
        "The backward pass rebuilds P from scores without the bias; LSE is that of the scores with it.",
        "P = exp(S − LSE) holds for the S of the forward pass, bias included.",
        **formula("no bias again"),
    ),
    "no bias": Mistake(
        "The scores have no bias at all.",
        "S is alpha q · k − slope · distance.",
        **formula("no bias"),
    ),
    "the distance is squared": Mistake(
        "The bias grows with the square of the distance. It should grow with the distance itself.",
        "The slope is what one step costs, wherever it is taken.",
        **formula("squared"),
    ),
}


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, do, slopes, alpha; the slopes are drawn, so that a wrong head is seen."""
    drawn = cases.tensors(case, generator)
    H = case.sizes["H"]
    slopes = slopes_of(H) if case.data == PAPER else 0.05 + 0.4 * torch.rand(H, generator=generator)
    return {**drawn, "slopes": slopes, "alpha": cases.alpha_of(case)}


PAPER = "slopes of the paper"


def sdpa(q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, alpha: float) -> tuple[Tensor, ...]:
    """The peer: SDPA with the bias as a matrix for each head."""
    seen = passes.visible(q.shape[2], k.shape[2], q)
    bias = bias_of(q, k, slopes).masked_fill(~seen, -torch.inf).to(q.dtype)
    return cases.sdpa_passes(q, k, v, do, alpha, bias)


alibi = Exercise(
    name="alibi",
    lesson="15",
    kind=Kind.KERNEL,
    title="A preference for near keys, a slope for each head",
    signature="(q, k, v, do, slopes, alpha) -> (o, lse, dq, dk, dv)",
    outputs=cases.OUTPUTS,
    inputs=inputs,
    cases=(
        *cases.common(H=3),
        variant_case(33, 60, 16, seed=20, B=2, H=8, data=PAPER),
        variant_case(50, 33, 16, seed=21, H=4, dtype=FP16),
        variant_case(20, 37, 16, seed=22, H=2, dtype=BF16, magnitude=2.0),
        *cases.on_a_gpu(),
    ),
    judged=cases.judged(
        with_distances,
        tuple(functools.partial(with_distances, spelling=spelling) for spelling in passes.SPELLINGS),
        cases.earlier_keys,
        real_sizes=cases.REAL_SIZES,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=sdpa, peer_name="sdpa with a bias", case=cases.timed_case()),
    points=2,
    solution="flashlearn.kernels.variants:alibi",
)
