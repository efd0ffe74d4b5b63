"""What the ten patients share: inputs of one head, references, work, cases, and how they are declared."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from flashlearn.exercise import (
    Case,
    Exercise,
    Inputs,
    Kind,
    Mistake,
    Work,
    make_exercise,
)
from flashlearn.lessons.lesson_10_clinic import catalogue
from flashlearn.lessons.lesson_10_clinic.patients import as_admitted, edited, too_much_changed
from flashlearn.lessons.shared import attention_cases, quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16, OTHER_ALPHA, attention_case, pairs
from flashlearn.lessons.shared.tiled_twins import other_order

FORWARD = "(q, k, v, alpha) -> (o, lse)"
BACKWARD = "(q, k, v, o, do, lse, alpha) -> {}"


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [S_q, D], k and v [S_k, D], contiguous, and alpha."""
    given = _one_head(attention_cases.forward_inputs(case, generator))
    if case.data.startswith("V near"):  # flat scores: every key counts, and acc grows with each
        level = {"V near 10⁴": 10000, "V near 2500": 2500}[case.data]
        noise = torch.randn(given["v"].shape, generator=generator)
        given |= {"q": given["q"] / 8, "v": (level + level / 10 * noise).to(case.dtype)}
    return {**given, **low_scores(given)} if case.data in LOW else given


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do, o [S_q, D], k, v [S_k, D], lse [S_q] in fp32, and alpha."""
    given = _one_head(attention_cases.backward_inputs(case, generator))
    if case.data not in LOW:
        return given
    given |= low_scores(given)
    o, given["lse"] = reference.attention_forward(*(given[name] for name in "qkv"), given["alpha"])
    return {**given, "o": o}


def low_scores(given: Inputs) -> Inputs:
    """Queries that point away from all keys: scores around −120 and −300 in turns, row by row."""
    level = torch.tensor([5.5, 13.5]).repeat(len(given["q"]))[: len(given["q"]), None]
    return {"q": given["q"] / 2 - level, "k": given["k"] / 2 + 5.5}


def _one_head(given: Inputs) -> Inputs:
    return {name: x[0, 0] if isinstance(x, Tensor) else x for name, x in given.items()}


def causal_forward(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """O and LSE where query i sees the keys j ≤ i + S_k − S_q."""
    return reference.attention_forward(q, k, v, alpha, causal=True)


def causal_forward_rounded(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """The same with P rounded to v's dtype before it meets V."""
    return reference.attention_forward_rounded(q, k, v, alpha, causal=True)


def only(gradients: Callable, *wanted: int) -> Callable[..., Any]:
    """A reference that returns some of (dQ, dK, dV)."""

    def some(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Any:
        every = gradients(q, k, v, o, do, lse, alpha)
        return tuple(every[i] for i in wanted) if len(wanted) > 1 else every[wanted[0]]

    return some


def gradients_in_tiles(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, block: int = 16
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) as a kernel sums them, tile by tile, in powers of two, so with other roundings."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    q_, k_, v_, do_ = (x.to(wide) for x in (q, k, v, do))
    delta = reference.attention_delta(o, do)[:, None]
    grown = (lse.to(wide) * reference.LOG2E)[:, None]
    dq, dk, dv = torch.zeros_like(q_), torch.zeros_like(k_), torch.zeros_like(v_)
    for a, b in itertools.product(range(0, len(q), block), range(0, len(k), block)):
        rows, keys = slice(a, a + block), slice(b, b + block)
        s = q_[rows] @ k_[keys].mT * (alpha * reference.LOG2E)
        p = (s - grown[rows]).exp2()
        dp = do_[rows] @ v_[keys].mT
        ds = (p * dp - p * delta[rows]).to(q.dtype).to(wide)
        dv[keys] += p.to(q.dtype).to(wide).mT @ do_[rows]
        dk[keys] += alpha * ds.mT @ q_[rows]
        dq[rows] += alpha * ds @ k_[keys]
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


SAME_PRECISION = (reference.attention_gradients_rounded, gradients_in_tiles, other_order(gradients_in_tiles))


def products_work(products: int, *outputs: str) -> Callable[[Inputs], Work]:
    """Least work: `products` products of 2·S_q·S_k·D operations; inputs read once, outputs written once."""

    def work(inputs: Inputs) -> Work:
        heads = {n: x[None, None] for n, x in inputs.items() if isinstance(x, Tensor) and x.ndim == 2}
        moved = sum(x.numel() * x.element_size() for x in heads.values())
        moved += sum(heads[like].numel() * heads[like].element_size() for like in outputs)
        return Work(2.0 * products * pairs(heads) * inputs["q"].shape[-1], moved)

    return work


def sdpa(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The baseline of the forward patients: torch's attention, one head."""
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None], scale=alpha)


def sdpa_causal(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The same with a causal mask; for S_q = S_k, where top-left and bottom-right are one."""
    heads = (x[None, None] for x in (q, k, v))
    return F.scaled_dot_product_attention(*heads, is_causal=True, scale=alpha)


def sdpa_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
) -> tuple[Tensor, ...]:
    """The baseline of the backward patients: torch's attention, forward and backward, one head."""
    leaves = [x[None, None].detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = F.scaled_dot_product_attention(*leaves, scale=alpha)
    return torch.autograd.grad(out, leaves, do[None, None])


SHARED = (
    attention_case(32, 32, 16, seed=1),
    attention_case(40, 56, 16, data=OTHER_ALPHA, seed=2),
    attention_case(56, 24, 16, seed=3),
    attention_case(1, 20, 16, seed=4),
    attention_case(33, 49, 32, seed=5),  # the last tile has one row
)
ON_A_GPU = (attention_case(500, 300, 64, dtype=FP16, seed=8, gpu=True),)
HALF = (
    attention_case(64, 64, 32, dtype=FP16, seed=6),
    attention_case(37, 64, 32, dtype=BF16, seed=7),
)
CASES = (*SHARED, *HALF, *ON_A_GPU)
LONG = (attention_case(100, 24, 16, seed=9),)
LOW = ("low scores", "low scores, whole tiles")
LOW_SCORES = (attention_case(32, 32, 16, data=LOW[0], seed=15),)
LOW_IN_WHOLE_TILES = (attention_case(32, 32, 16, data=LOW[1], seed=15),)  # padded lanes would exceed them
LOW_AND_RAGGED = (attention_case(18, 20, 16, data=LOW[0], seed=16),)  # exp(0 − LSE) overflows
GENTLE = (  # scores that differ little: a maximum over hidden keys costs no digits then
    attention_case(64, 64, 32, dtype=FP16, magnitude=0.5, seed=6),
    attention_case(37, 64, 32, dtype=BF16, magnitude=0.5, seed=7),
    attention_case(500, 500, 64, dtype=FP16, magnitude=0.5, seed=8, gpu=True),
)
LARGE_V = (
    attention_case(32, 64, 16, dtype=FP16, data="V near 10⁴", seed=10),
    attention_case(20, 64, 16, dtype=FP16, data="V near 2500", seed=11),
)
TIMED = attention_case(4096, 4096, 64, dtype=FP16, seed=12, gpu=True)


def patient(
    number: int,
    title: str,
    outputs: tuple[str, ...],
    mistakes: Mapping[str, Mistake],
    cases: tuple[Case, ...] = CASES,
    file: str = "backward_patients",
    **more: Any,
) -> Exercise:
    """The declaration of patient `number`; a cure may change few lines.

    The `title` is what the patient complains of, and says so: beside a verdict it would read like a finding.
    """
    name = f"clinic_{number}"
    ordinary = {
        "lesson": "10",
        "kind": Kind.KERNEL,
        "unsolved": as_admitted(name),
        "review": too_much_changed(name),
        "timing_case": TIMED,
        "solution": f"flashlearn.lessons.lesson_10_clinic.{file}:{name}",
    }
    complaint = f"The patient's complaint: {title[0].lower()}{title[1:]}"
    asked = {"name": name, "title": complaint, "outputs": outputs, "cases": cases}
    return make_exercise(**{**ordinary, **asked, "mistakes": mistakes, **more})


def backward_patient(
    number: int, title: str, wanted: tuple[int, ...], products: int, **more: Any
) -> Exercise:
    """A patient of the backward pass that returns the `wanted` ones of (dQ, dK, dV)."""
    outputs = tuple(("dq", "dk", "dv")[i] for i in wanted)
    listed = ", ".join(outputs)
    return patient(
        number,
        title,
        outputs,
        signature=BACKWARD.format(f"({listed})" if len(outputs) > 1 else listed),
        inputs=backward_inputs,
        reference=only(reference.attention_gradients, *wanted),
        twins=tuple(only(g, *wanted) for g in SAME_PRECISION),
        gradient=True,
        work=products_work(products, *(("q", "k", "v")[i] for i in wanted)),
        quantities=quantities.backward(*outputs),
        weights=readouts.readout(readouts.dv_weights if "dv" in outputs else readouts.dq_weights),
        catalogue=catalogue.backward(*outputs),
        peer=sdpa_backward,
        peer_name="sdpa_backward",
        **more,
    )


def forward_patient(number: int, title: str, **more: Any) -> Exercise:
    """A patient of the forward pass."""
    ordinary = {
        "reference": reference.attention_forward,
        "twins": (reference.attention_forward_rounded, reference.attention_forward_base2),
        "peer": sdpa,
        "peer_name": "sdpa",
        "work": products_work(2, "q"),
        "quantities": quantities.attention_forward,
        "weights": readouts.readout(readouts.forward_weights),
        "catalogue": catalogue.forward(),
        "cases": (*CASES, *LONG, *LOW_SCORES),
    }
    return patient(
        number,
        title,
        ("o", "lse"),
        file="forward_patients",
        signature=FORWARD,
        inputs=forward_inputs,
        output_dtypes={"lse": torch.float32},
        **{**ordinary, **more},
    )


def wrong_cure(patient: str, sentence: str, next_step: str, *edits: tuple[str, str]) -> Mistake:
    """A mistake that a cure makes: the patient with other edits, and what is said about it."""
    return Mistake(sentence, next_step, launcher=edited(patient, *edits))


def with_sizes(exercise: Exercise, **sizes: Any) -> Case:
    """A case of a patient with other sizes, for the lesson's own tests: S_q, S_k, D, and fields of Case."""
    fields = {key: sizes.pop(key) for key in ("S_q", "S_k", "D") if key in sizes}
    first = exercise.cases[0]
    return dataclasses.replace(first, sizes={**first.sizes, **fields}, **sizes)
