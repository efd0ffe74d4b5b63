"""`strided_inputs`: a launcher for any strides, which refuses what does not fit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import attention
from flashlearn.lessons.lesson_09_into_pytorch import bad_arguments
from flashlearn.lessons.lesson_09_into_pytorch.faulty_formulas.strides import forward
from flashlearn.lessons.lesson_09_into_pytorch.laid_out_inputs import laid_out_inputs
from flashlearn.lessons.shared import readouts, reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, products_work, score_count
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.tiled_twins import forward_from_lse, forward_in_tiles
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

_STRIDES = "*q.stride(), *k.stride(), *v.stride(), *o.stride(),"

EDITS = {
    "v with k's": "*q.stride(), *k.stride(), *k.stride(), *o.stride(),",
    "k and v with q's": "*q.stride(), *q.stride(), *q.stride(), *o.stride(),",
    "o with q's": "*q.stride(), *k.stride(), *v.stride(), *q.stride(),",
    "last is 1": "*q.stride()[:3], 1, *k.stride()[:3], 1, *v.stride()[:3], 1, *o.stride()[:3], 1,",
    "as if contiguous": "*o.stride(), *(H * S_k * D, S_k * D, D, 1) * 2, *o.stride(),",
    "heads before batch": "*(t.stride(i) for t in (q, k, v, o) for i in (1, 0, 2, 3)),",
}
"""Faults by name: the strides that the launcher hands the kernel instead."""


def faulty_launcher(fault: str) -> Variant:
    """The launcher `strided_inputs` with one fault of EDITS."""
    return variant(attention.strided_inputs, edits=((_STRIDES, EDITS[fault]),))


formula = faulty_formula(forward)

MISTAKES = {
    "v read with k's strides": Mistake(
        "v is read with the strides of k. Both have the same shape, but here different layouts.",
        "v has strides of its own.",
        launcher=faulty_launcher("v with k's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "k and v read with q's strides": Mistake(
        "k and v are read with the strides of q.",
        "k and v have strides of their own.",
        launcher=faulty_launcher("k and v with q's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "o written with q's strides": Mistake(
        "o is written with the strides of q, but o is a tensor of its own, with its own layout.",
        "The strides of o go to the kernel with o, whatever q looks like.",
        launcher=faulty_launcher("o with q's"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the last stride taken to be 1": Mistake(
        "Neighbouring elements of a row are assumed to lie side "
        "by side in memory, which is not so in every case.",
        "Each tensor has four strides, and the last one may be any number.",
        launcher=faulty_launcher("last is 1"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "every tensor taken to be contiguous": Mistake(
        "q, k and v are read as if they were contiguous. A view's memory is laid out differently.",
        "`stride()` of a view says how the view lies in memory.",
        launcher=faulty_launcher("as if contiguous"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "heads and batch exchanged": Mistake(
        "The strides of batch and head are exchanged, or their indices are.",
        "`stride()` has the order of the dimensions: batch, head, row, column.",
        launcher=faulty_launcher("heads before batch"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "alpha from the padded D": Mistake(
        "alpha is one over the root of the padded width. It should be one over the root of D.",
        "The case with D 24 is padded to 32; padding must not change the mathematics.",
        **formula("alpha of the padded D"),
    ),
    "alpha = 0 taken for none": Mistake(
        "An alpha of 0.0 is replaced by the default, as by `alpha or …`, which "
        "treats every false value as missing.",
        "Which test tells a missing alpha, None, from 0.0?",
        **formula("zero is no alpha"),
    ),
    "no default for alpha": Mistake(
        "Where no alpha is given, 1 is used. The default is 1/√D.",
        "Where alpha is None, it is 1/√D.",
        **formula("no default"),
    ),
    "alpha from S": Mistake(
        "The default of alpha is one over the root of a length S, not of D.",
        "D is the last dimension of q.",
        **formula("alpha from S_q", also=("alpha from S_k",)),
    ),
    "alpha is never used": Mistake(
        "An alpha that is given changes nothing: 1/√D is used whatever it is.",
        "The default is for `alpha is None` only; otherwise pass on what came in.",
        **formula("given alpha ignored"),
    ),
    "alpha applied twice": Mistake(
        "The scores carry alpha twice.",
        "The kernel multiplies q · k by the alpha that it is given.",
        **formula("alpha twice"),
    ),
    "o's layout": Mistake(
        "The numbers of o are in the wrong places: o has another layout than the one it is written in.",
        "The kernel has to write o with the strides of the o that is returned.",
        **formula("o like q"),
    ),
}


def with_default(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with alpha = 1/√D where it is None."""

    @functools.wraps(function)
    def called(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> Any:
        return function(q, k, v, 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha)

    return called


def forward_work(inputs: Inputs) -> Work:
    """Two products; q, k and v read once, o written once. Heads that share memory are read once."""
    given = {name: inputs[name] for name in "qkv"}
    return products_work(given, 2, ("q",))


def sdpa(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> Tensor:
    """Torch's attention, by its FlashAttention-2 backend."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, scale=alpha)


CASES = (
    attention_case(16, 16, 16, note="contiguous", seed=1),
    attention_case(
        20, 33, 16, H=2, note="[B, S, H, D] in memory", layout="projection, projection, projection", seed=2
    ),
    attention_case(24, 24, 8, H=2, note="cut out of one buffer", layout="packed", seed=3),
    attention_case(
        17, 33, 16, H=2, note="alpha 0.3, each laid out otherwise", layout="contiguous, projection, columns",
        data="alpha 0.3", seed=4,
    ),
    attention_case(
        20, 24, 24, H=2, note="every second element", layout="every second, every second, contiguous", seed=5
    ),
    attention_case(16, 20, 16, H=3, note="k and v expanded", layout="contiguous, expanded, expanded", seed=6),
    attention_case(
        12, 20, 16, H=2, note="alpha 0, q expanded", layout="expanded, contiguous, projection",
        data="alpha 0.0", seed=7,
    ),
    attention_case(
        33, 20, 16, B=2, H=2, note="q [B, S, H, D]", layout="projection, contiguous, contiguous", seed=8
    ),
    attention_case(
        40, 24, 32, H=2, dtype=FP16, note="k transposed", layout="projection, columns, projection", seed=9
    ),
    attention_case(
        24, 40, 32, H=2, dtype=BF16, note="each laid out otherwise",
        layout="columns, projection, every second", seed=10,
    ),
    attention_case(5, 7, 80, H=2, note="D beyond 64", seed=14),
    attention_case(3, 5, 136, note="D beyond 128", seed=15, compiled=False),
    attention_case(
        500, 500, 64, B=8, H=8, dtype=FP16, note="cut out of one buffer", layout="packed", seed=11, gpu=True
    ),
    attention_case(
        1024, 500, 64, B=8, H=8, dtype=BF16, note="each laid out otherwise",
        layout="projection, expanded, columns", seed=12, gpu=True,
    ),
)  # fmt: skip

strided_inputs = Exercise(
    name="strided_inputs",
    lesson="09",
    kind=Kind.KERNEL,
    title="A launcher that takes any strides, and refuses what does not fit",
    signature="(q, k, v, alpha=None) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=laid_out_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=with_default(reference.attention_forward),
        twins=(
            with_default(reference.attention_forward_rounded),
            with_default(reference.attention_forward_base2),
            with_default(forward_in_tiles),
            with_default(forward_from_lse),
        ),
        output_dtypes={"lse": torch.float32},
        work=forward_work,
        grows=score_count,
        review=bad_arguments.review,
        beside=bad_arguments.seen_beside,
    ),
    timed=HowTimed(
        peer=sdpa,
        peer_name="sdpa",
        case=attention_case(1024, 1024, 64, B=32, H=8, dtype=FP16, layout="packed", gpu=True, seed=13),
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
        weights=readouts.readout(readouts.forward_weights),
    ),
    points=2,
    solution="flashlearn.kernels.attention:strided_inputs",
)
