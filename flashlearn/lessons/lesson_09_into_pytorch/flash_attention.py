"""`flash_attention`: an autograd.Function around the kernels of lessons 06 to 08."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.lessons.lesson_09_into_pytorch.autograd_calls import (
    attention_inputs,
    forward_and_backward,
    review_graph,
)
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.autograd import KEPT_TOGETHER, passes
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, products_work, score_count
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.tiled_twins import forward_from_lse, forward_in_tiles, gradients_in_tiles

formula = faulty_formula(passes)

MISTAKES = {
    "the mask is forgotten": Mistake(
        "causal=True changes nothing: o is that of unmasked attention.",
        "Which forward launcher runs where causal is True?",
        **formula("no mask"),
    ),
    "the mask is always there": Mistake(
        "o is masked also where causal is False.",
        "Which forward launcher runs where causal is False?",
        **formula("always a mask", also=(("always a mask", "as asked backward"),)),
    ),
    "the mask is turned round": Mistake(
        "What causal=True gives is unmasked, and without it o is masked: the two are exchanged.",
        "Which forward launcher runs where causal is True?",
        **formula("mask turned round", also=(("mask turned round", "as asked backward"),)),
    ),
    "the mask is forgotten on the way back": Mistake(
        "Where causal is True, the gradients are computed without the mask.",
        "The backward pass needs the `causal` of its own forward pass.",
        **formula("no mask backward", also=(("no mask backward", "guarded"),)),
    ),
    "the mask is forgotten in dQ": Mistake(
        "dQ is computed without the mask, also where causal is True.",
        "Which launcher computes dQ where causal is True?",
        **formula("no mask in dq", also=(("no mask in dq", "guarded"),)),
    ),
    "the mask is forgotten in dK and dV": Mistake(
        "dK and dV are computed without the mask, also where causal is True.",
        "Which launcher computes dK and dV where causal is True?",
        **formula("no mask in dkv", also=(("no mask in dkv", "guarded"),)),
    ),
    "LSE of all keys on the way back": Mistake(
        "Where causal is True, the backward pass works with the LSE of all keys, as if it were computed "
        "anew, without the mask.",
        "P = exp(S − LSE) needs the LSE that the forward pass returned.",
        **formula("LSE of all keys"),
    ),
    "alpha is forgotten on the way back": Mistake(
        "The gradients are computed with alpha = 1/√D, though the forward pass was given another.",
        "The backward pass needs the alpha of its own forward pass.",
        **formula("default alpha backward"),
    ),
    "alpha is 1 on the way back": Mistake(
        "The gradients are computed with alpha = 1, which is not what the forward pass had.",
        "The backward pass needs the alpha of its own forward pass.",
        **formula("no alpha backward"),
    ),
    "alpha is never used": Mistake(
        "An alpha that is given changes nothing: 1/√D is used whatever it is.",
        "The default is for `alpha is None` only; otherwise pass on what came in.",
        **formula("given alpha ignored"),
    ),
    "no default for alpha": Mistake(
        "Where no alpha is given, 1 is used. The default is 1/√D.",
        "Where alpha is None, it is 1/√D.",
        **formula("no default"),
    ),
    "alpha from S": Mistake(
        "The default of alpha is one over the root of another length than D: of S, or of "
        "the number of heads.",
        "D is the last dimension of q.",
        **formula("alpha from S_q", also=("alpha from S_k", "alpha from H")),
    ),
    "alpha = 0 taken for none": Mistake(
        "An alpha of 0.0 is replaced by the default, as by `alpha or …`, which "
        "treats every false value as missing.",
        "Which test tells a missing alpha, None, from 0.0?",
        **formula("zero is no alpha"),
    ),
    "causal and alpha exchanged": Mistake(
        "causal and alpha are in each other's place: alpha is 1 or 0, and there is a mask wherever alpha "
        "is not 0.",
        "`apply` takes its arguments by position: in the order of `forward`.",
        **formula("causal and alpha exchanged"),
    ),
    "dQ of the scaled q": Mistake(
        "dQ lacks the factor alpha, as the gradient with respect to alpha q does.",
        "By the chain rule, what is the derivative of alpha q by q?",
        **formula("q scaled beforehand"),
    ),
    "alpha applied twice to dQ": Mistake(
        "dQ carries alpha once more than it should: its launcher has multiplied by it already.",
        "What the launcher returns is already the gradient.",
        **formula("dq scaled again"),
    ),
    "alpha applied twice to dK": Mistake(
        "dK carries alpha once more than it should: its launcher has multiplied by it already.",
        "What the launcher returns is already the gradient.",
        **formula("dk scaled again"),
    ),
    "dk and dv exchanged": Mistake(
        "The gradients of k and v are swapped.",
        "backward returns k's gradient at k's place among forward's arguments, and v's at v's.",
        **formula("dk and dv exchanged"),
    ),
    "k and v exchanged on the way back": Mistake(
        "The backward pass takes v for k and k for v, as if they were kept, unpacked or passed on in "
        "another order.",
        "What the launchers get as k has to be forward's k, and what they get as v its v.",
        **formula("k and v exchanged"),
    ),
    "o and do exchanged": Mistake(
        "In the backward pass do is in o's place, and o in do's. delta, made of both, does not show it.",
        "A launcher takes q, k, v, o, do, lse, alpha, in this order.",
        **formula("o and do exchanged"),
    ),
    "do is ignored": Mistake(
        "The gradients are those of o.sum(): ones were taken for do.",
        "backward's argument is the gradient of o. Pass it on.",
        **formula("dO of ones"),
    ),
    "delta is halved": Mistake(
        "The gradients of q and k are those of a delta of half its size, as if the o that was kept were "
        "half the o of the forward pass.",
        "delta is Σ_d dO ∘ O, with the o that the kernel wrote.",
        **formula("o halved"),
    ),
    "delta omitted": Mistake(
        "dQ and dK lack delta, as if the o that was kept were zeros.",
        "delta is Σ_d dO ∘ O, with the o that the kernel wrote.",
        **formula("no delta"),
    ),
    "kept on the class": Mistake(
        "Where a second call comes before the first one's backward pass, backward works with at least some "
        "of the second call's numbers. What is kept on the class or in a global is shared "
        "by all calls; a model has one call per layer.",
        "Each call has a `ctx` of its own. What does backward read that is not kept there?",
        **formula(KEPT_TOGETHER[0], also=KEPT_TOGETHER[1:]),
    ),
    "nothing to differentiate": Mistake(
        "o is attached to no graph: it does not require a gradient though q, k and v do; the gradients "
        "shown here as NaN do not exist.",
        "Gradients need `apply` (not `forward`) of the autograd.Function, with q, k and v themselves, "
        "not detached and not under no_grad.",
        **formula("no graph"),
        marked=True,
    ),
}


def with_gradients(gradients: Callable[..., tuple], forward: Callable[..., tuple]) -> Callable[..., Any]:
    """(q, k, v, causal, alpha, do) → (o, dq, dk, dv) by the reference's formulas; o alone without do."""

    def computed(q, k, v, causal=False, alpha=None, do=None, another_call=False):
        alpha = 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha
        o, lse = forward(q, k, v, alpha, causal)
        return o if do is None else (o, *gradients(q, k, v, o, do, lse, alpha, causal))

    return computed


def attention_work(inputs: Inputs) -> Work:
    """Two products forward, five backward; q, k, v and do read once, o and three gradients written once."""
    given = {name: inputs[name] for name in ("q", "k", "v", "do")}
    return products_work(given, 7, ("q", "q", "k", "v"), inputs["causal"])


def sdpa_and_gradients(q, k, v, causal, alpha, do, another_call=False) -> tuple[Tensor, ...]:
    """Torch's attention and its autograd, by its FlashAttention-2 backend."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    with torch.enable_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        o = F.scaled_dot_product_attention(*leaves, is_causal=causal, scale=alpha)
        return o, *torch.autograd.grad(o, leaves, do)


CASES = (
    attention_case(16, 16, 16, seed=1),
    attention_case(20, 37, 16, data="causal", seed=2),
    attention_case(37, 20, 24, data="causal, alpha 0.4", seed=3),
    attention_case(
        17, 33, 16, H=2, note="alpha 0.5, [B, S, H, D] in memory",
        layout="projection, projection, projection", data="alpha 0.5", seed=4,
    ),
    attention_case(
        24, 24, 16, H=2, note="causal, cut out of one buffer", layout="packed", data="causal", seed=5
    ),
    attention_case(16, 20, 16, H=2, note="k and v expanded", layout="contiguous, expanded, expanded", seed=6),
    attention_case(20, 12, 16, data="dO of a sum", seed=7),
    attention_case(12, 16, 16, data="another call in between", seed=8),
    attention_case(12, 16, 16, note="alpha 0", data="alpha 0.0", seed=9),
    attention_case(32, 32, 32, dtype=FP16, data="causal", seed=10),
    attention_case(24, 40, 32, dtype=BF16, seed=11),
    attention_case(5, 7, 80, note="D beyond 64", seed=12),
    *(
        attention_case(S, S, 64, B=32, H=8, dtype=FP16, gpu=True, seed=30 + S, data=data)
        for S in (128, 500, 1024)
        for data in ("normal", "causal")
    ),
    attention_case(
        500, 500, 64, B=32, H=8, dtype=BF16, gpu=True, note="causal, cut out of one buffer", layout="packed",
        data="causal", seed=31,
    ),
)  # fmt: skip

flash_attention = Exercise(
    name="flash_attention",
    lesson="09",
    kind=Kind.KERNEL,
    title="Attention that autograd can differentiate",
    signature="(q, k, v, causal=False, alpha=None) -> o",
    outputs=("o", "dq", "dk", "dv"),
    inputs=attention_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=with_gradients(reference.attention_gradients, reference.attention_forward),
        twins=(
            with_gradients(reference.attention_gradients_rounded, reference.attention_forward_rounded),
            with_gradients(reference.attention_gradients, reference.attention_forward_base2),
            with_gradients(gradients_in_tiles, forward_in_tiles),
            with_gradients(reference.attention_gradients, forward_from_lse),
        ),
        gradient=True,
        work=attention_work,
        grows=score_count,
        call=forward_and_backward,
        review=review_graph,
    ),
    timed=HowTimed(
        peer=sdpa_and_gradients,
        peer_name="sdpa_and_gradients",
        case=attention_case(1024, 1024, 64, B=32, H=8, dtype=FP16, data="causal", gpu=True, seed=41),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    points=3,
    solution="flashlearn.kernels.attention:flash_attention",
)
