"""`softcap`: scores that stay between −cap and cap, and the derivative of the cap in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowTimed, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.lesson_15_variants import variant_cases as cases
from flashlearn.lessons.lesson_15_variants.variant_cases import variant_case
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, faulty_formula, tiled

Curve = Callable[[Tensor], Tensor]


def tanh_by_sigmoid(y: Tensor) -> Tensor:
    """2 σ(2y) − 1: near 0 the difference of two numbers near 1."""
    return 2 * torch.sigmoid(2 * y) - 1


def tanh_by_exp(y: Tensor) -> Tensor:
    """1 − 2 / (e^2y + 1), with the like loss near 0."""
    return 1 - 2 / ((2 * y).exp() + 1)


def capped(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cap: float, alpha: float,
    spelling: passes.Spelling = passes.both, tanh: Curve = torch.tanh,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Both passes of causal attention with s = cap · tanh(x / cap), x = alpha q · k."""
    return spelling(
        q, k, v, do, alpha,
        score=lambda x: cap * tanh(x / cap), derivative=lambda x: 1 - tanh(x / cap) ** 2,
        seen=passes.visible(q.shape[2], k.shape[2], q),
    )  # fmt: skip


SCORES: dict[str, Callable[[Tensor, float, float], Tensor]] = {
    "no cap": lambda x, cap, alpha: x,
    "not multiplied": lambda x, cap, alpha: torch.tanh(x / cap),
    "not divided": lambda x, cap, alpha: cap * torch.tanh(x),
    "alpha after the cap": lambda x, cap, alpha: alpha * cap * torch.tanh(x / alpha / cap),
    "clamped": lambda x, cap, alpha: x.clamp(-cap, cap),
    "half the argument": lambda x, cap, alpha: cap * torch.tanh(x / cap / 2),
    "twice the argument": lambda x, cap, alpha: cap * torch.tanh(2 * x / cap),
}
DERIVATIVES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "no derivative": lambda x, tanh, cap: torch.ones_like(x),
    "derivative at s": lambda x, tanh, cap: 1 - torch.tanh(tanh) ** 2,
    "derivative without the division": lambda x, tanh, cap: 1 - (cap * tanh) ** 2,
    "derivative divided once": lambda x, tanh, cap: 1 - cap * tanh**2,
    "derivative of x": lambda x, tanh, cap: 1 - (x / cap) ** 2,
    "not squared": lambda x, tanh, cap: 1 - tanh,
    "magnitude not squared": lambda x, tanh, cap: 1 - tanh.abs(),
    "added": lambda x, tanh, cap: 1 + tanh**2,
    "divided once more": lambda x, tanh, cap: (1 - tanh**2) / cap,
    "multiplied once more": lambda x, tanh, cap: (1 - tanh**2) * cap,
    "squared score": lambda x, tanh, cap: tanh**2,
    "tanh for its derivative": lambda x, tanh, cap: tanh,
    "clamped": lambda x, tanh, cap: (x.abs() < cap).to(x.dtype),
}
"""Of x, of tanh(x / cap), or what the learner has for it, and of cap."""
AFTER_THE_MASK = "capped after the mask"
FROM_S = "derivative from the wrong s"
"""1 − (s / cap)², which is right for a right s."""


@tiled(frozenset({AFTER_THE_MASK}))
def faulty_cap(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cap: float, alpha: float, faults: Faults = NONE,
    tile: Tile = (32, 32),
) -> tuple[Tensor, ...]:  # fmt: skip
    """Both passes, with faults of the cap, of its derivative, and of its place."""
    seen = passes.visible(q.shape[2], k.shape[2], q)

    def score(x: Tensor) -> Tensor:
        if AFTER_THE_MASK in faults:  # cap · tanh(−∞) = −cap
            return torch.where(seen, cap * torch.tanh(x / cap), -cap)
        of = next((SCORES[fault] for fault in faults if fault in SCORES), None)
        return cap * torch.tanh(x / cap) if of is None else of(x, cap, alpha)

    def derivative(x: Tensor) -> Tensor:
        of = next((DERIVATIVES[fault] for fault in faults if fault in DERIVATIVES), None)
        tanh = score(x) / cap if FROM_S in faults else torch.tanh(x / cap)
        found = 1 - tanh**2 if of is None else of(x, tanh, cap)
        return torch.where(seen, found, 0.0)

    visible = seen
    if AFTER_THE_MASK in faults:
        visible = torch.ones_like(seen) if "all keys visited" in faults else passes.whole_tiles(seen, tile)
    o, lse = passes.forward(q, k, v, alpha, score, visible)
    again = passes.same if "uncapped again" in faults else score
    return o, lse, *passes.gradients(q, k, v, o, do, lse, alpha, again, derivative, visible)


formula = faulty_formula(faulty_cap)

MISTAKES = {
    "the cap's derivative is forgotten": Mistake(
        "dQ and dK are those of a score that is not capped: dS was not multiplied by the derivative of the "
        "cap.",
        "What is the derivative of cap · tanh(x / cap) by x?",
        **formula("no derivative"),
    ),
    "the derivative at the wrong place": Mistake(
        "The derivative of the cap was taken with a tanh too many, as if at the capped score: 1 − tanh²(s / "
        "cap), where s / cap is tanh(x / cap) already.",
        "In terms of the capped score s, 1 − tanh²(x / cap) is 1 − (s / cap)².",
        **formula("derivative at s"),
    ),
    "the derivative has s where it needs s / cap": Mistake(
        "dS was multiplied by 1 − s² instead of 1 − (s / cap)².",
        "tanh(x / cap) is between −1 and 1, and s is cap times as large.",
        **formula("derivative without the division", also=(("derivative without the division", FROM_S),)),
    ),
    "the derivative is not squared": Mistake(
        "dS was multiplied by a factor whose tanh is not squared: the derivative of the cap is 1 − tanh²(x "
        "/ cap).",
        "What is the derivative of tanh(y) by y?",
        **formula(
            "not squared",
            also=("magnitude not squared", ("not squared", FROM_S), ("magnitude not squared", FROM_S)),
        ),
    ),
    "the derivative is divided by cap": Mistake(
        "dQ and dK are divided by cap once too often: the derivative of tanh(x / cap) has a 1 / cap, and "
        "the cap in front of it cancels that.",
        "What is the derivative of cap · tanh(x / cap) at x = 0?",
        **formula("divided once more", also=(("divided once more", FROM_S),)),
    ),
    "the derivative is multiplied by cap": Mistake(
        "dQ and dK are multiplied by cap once too often: the cap in front of the tanh cancels the 1 / cap "
        "that the chain rule brings.",
        "What is the derivative of cap · tanh(x / cap) at x = 0?",
        **formula("multiplied once more", also=(("multiplied once more", FROM_S),)),
    ),
    "the derivative has x where it needs s": Mistake(
        "dS was multiplied by 1 − (x / cap)², with the score before the cap. 1 − tanh² is 1 − (s / cap)², "
        "with the capped score.",
        "x / cap can be larger than 1, but tanh(x / cap) cannot.",
        **formula("derivative of x"),
    ),
    "the derivative is divided by cap once": Mistake(
        "dS was multiplied by 1 − s² / cap instead of 1 − (s / cap)²: the square is of the whole quotient.",
        "(s / cap)² is s² / cap².",
        **formula("derivative divided once", also=(("derivative divided once", FROM_S),)),
    ),
    "tanh² added to 1": Mistake(
        "dS was multiplied by 1 + tanh²(x / cap), which is never less than 1.",
        "The capped score rises less steeply than x: its derivative is at most 1.",
        **formula("added", also=(("added", FROM_S),)),
    ),
    "tanh instead of its derivative": Mistake(
        "dS was multiplied by tanh(x / cap), not by its derivative, 1 − tanh²(x / cap).",
        "At x = 0 the capped score rises as steeply as x: the derivative is 1 there.",
        **formula("tanh for its derivative", also=(("tanh for its derivative", FROM_S),)),
    ),
    "tanh² instead of 1 − tanh²": Mistake(
        "dS was multiplied by tanh²(x / cap), which is 0 where the cap changes nothing.",
        "At x = 0 the capped score rises as steeply as x: the derivative is 1 there.",
        **formula("squared score", also=(("squared score", FROM_S),)),
    ),
    "cap applied after the mask": Mistake(
        "Hidden keys have weight: a score of −∞ that is capped becomes −cap, which is an ordinary score.",
        "A score is capped first, and hidden after that.",
        **formula(AFTER_THE_MASK, also=((AFTER_THE_MASK, "all keys visited"),)),
    ),
    "P rebuilt from uncapped scores": Mistake(
        "The backward pass rebuilds P from scores that are not capped, and LSE is that of the capped ones.",
        "P = exp(S − LSE) holds for the capped S of the forward pass.",
        **formula("uncapped again", also=(("uncapped again", "no derivative"),)),
    ),
    "no cap": Mistake(
        "The scores are not capped at all.",
        "S is cap · tanh(x / cap), where x = alpha q · k.",
        **formula("no cap", "no derivative", also=("no cap", ("no cap", FROM_S))),
    ),
    "alpha after the cap": Mistake(
        "q · k was capped, and then multiplied by alpha: the scores then end at alpha · cap.",
        "S is cap · tanh(x / cap), where x = alpha q · k.",
        **formula("alpha after the cap", also=(("alpha after the cap", FROM_S),)),
    ),
    "cap is missing in front": Mistake(
        "The scores are tanh(x / cap), between −1 and 1: the factor cap in front is missing.",
        "For small x the capped score is nearly x.",
        **formula("not multiplied", also=(("not multiplied", FROM_S),)),
    ),
    "x is not divided by cap": Mistake(
        "The scores are cap · tanh(x): x was not divided by cap.",
        "For small x the capped score is nearly x.",
        **formula("not divided", also=(("not divided", FROM_S),)),
    ),
    "half the argument of tanh": Mistake(
        "The scores are cap · tanh(x / (2 cap)): the argument of tanh is half of what it should be.",
        "For small x the capped score is nearly x.",
        **formula("half the argument", also=(("half the argument", FROM_S),)),
    ),
    "twice the argument of tanh": Mistake(
        "The scores are cap · tanh(2 x / cap): the argument of tanh is twice what it should be.",
        "For small x the capped score is nearly x.",
        **formula("twice the argument", also=(("twice the argument", FROM_S),)),
    ),
    "a hard cap": Mistake(
        "The scores are clamped to −cap … cap, which is not the soft cap.",
        "The soft cap is smooth: cap · tanh(x / cap).",
        **formula("clamped"),
    ),
}  # fmt: skip


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, do, cap, alpha."""
    drawn = cases.tensors(case, generator)
    return {**drawn, "cap": float(case.sizes["cap"]), "alpha": cases.alpha_of(case)}


TWINS = (
    *(functools.partial(capped, spelling=spelling) for spelling in passes.SPELLINGS),
    functools.partial(capped, tanh=tanh_by_sigmoid),
    functools.partial(capped, spelling=passes.rounded, tanh=tanh_by_exp),
)


softcap = Exercise(
    name="softcap",
    lesson="15",
    kind=Kind.KERNEL,
    title="Capped scores, and the cap's derivative",
    signature="(q, k, v, do, cap, alpha) -> (o, lse, dq, dk, dv)",
    outputs=cases.OUTPUTS,
    inputs=inputs,
    cases=(
        *cases.common(cap=2),
        variant_case(33, 50, 16, seed=20, cap=50),
        variant_case(50, 33, 16, seed=21, cap=5, magnitude=4.0),
        variant_case(64, 64, 32, seed=22, cap=30, dtype=FP16, magnitude=3.0),
        variant_case(20, 37, 16, seed=23, cap=3, dtype=BF16, magnitude=2.0),
        *cases.on_a_gpu(cap=20),
    ),
    judged=cases.judged(capped, TWINS, cases.earlier_keys, real_sizes=cases.REAL_SIZES),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=capped, peer_name="the formula in torch", case=cases.timed_case(cap=30)),
    points=3,
    solution="flashlearn.kernels.variants:softcap",
)
