"""Lesson 08, dK and dV: two kernels that own keys and scan queries, without and with a causal mask."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_08_dk_dv import mistakes
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import REAL_SIZES, TIMING, products_work

SIGNATURE = "(q, k, v, o, do, lse, alpha) -> (dk, dv)"


def only_dk_dv(gradients: backward.Gradients, causal: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """A reference or twin that returns dK and dV."""

    def dk_dv(
        q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
    ) -> tuple[Tensor, Tensor]:
        return gradients(q, k, v, o, do, lse, alpha, causal)[1:]

    return dk_dv


def dkv_work(inputs: Inputs) -> Work:
    """Four products, S, dV, dP and dK, over all pairs."""
    return products_work(inputs, 4, ("k", "v"))


def dkv_causal_work(inputs: Inputs) -> Work:
    """The same over the visible pairs."""
    return products_work(inputs, 4, ("k", "v"), causal=True)


dkv_kernel = Exercise(
    name="dkv_kernel",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV, one program per block of keys",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.backward_inputs,
    cases=backward.MANY_QUERIES,
    judged=HowJudged(
        reference=only_dk_dv(reference.attention_gradients, causal=False),
        twins=backward.twins(only_dk_dv, causal=False),
        gradient=True,
        work=dkv_work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dv_weights),
        quantities=quantities.backward("dk", "dv"),
        mistakes=mistakes.DKV,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward,
        peer_name="sdpa_backward",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel",
)

dkv_kernel_causal = Exercise(
    name="dkv_kernel_causal",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV where later keys are hidden",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.causal_backward_inputs,
    cases=backward.MANY_QUERIES,
    judged=HowJudged(
        reference=only_dk_dv(reference.attention_gradients, causal=True),
        twins=backward.twins(only_dk_dv, causal=True),
        gradient=True,
        work=dkv_causal_work,
        real_sizes=REAL_SIZES,
        causal=True,
        review=backward.leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dv_weights, causal=True),
        quantities=quantities.backward("dk", "dv", causal=True),
        mistakes=mistakes.CAUSAL,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward_causal,
        peer_name="sdpa_backward_causal",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel_causal",
)
