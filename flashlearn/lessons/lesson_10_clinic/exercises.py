"""Lesson 10, the clinic: ten sick kernels to be mended in one place each, and a test suite on trial."""

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
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    Inputs,
    Kind,
    Mistake,
    Work,
    make_exercise,
)
from flashlearn.lessons.lesson_10_clinic import catalogue, mutants, suites
from flashlearn.lessons.lesson_10_clinic import mistakes as mistakes_10
from flashlearn.lessons.lesson_10_clinic.patients import as_admitted, too_much_changed
from flashlearn.lessons.shared import attention_cases, quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, pairs
from flashlearn.lessons.shared.tiled_twins import other_order
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

FORWARD = "(q, k, v, alpha) -> (o, lse)"
BACKWARD = "(q, k, v, o, do, lse, alpha) -> {}"

# ---------------------------------------------------------------- one head: inputs, references, work, peers


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [S_q, D], k and v [S_k, D], contiguous, and alpha."""
    given = _one_head(attention_cases.forward_inputs(case, generator))
    if case.data.startswith("V near"):  # flat scores: every key counts, and acc grows with each
        level = {"V near 10⁴": 10000, "V near 2500": 2500}[case.data]
        noise = torch.randn(given["v"].shape, generator=generator)
        given |= {"q": given["q"] / 8, "v": (level + level / 10 * noise).to(case.dtype)}
    return given


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do, o [S_q, D], k, v [S_k, D], lse [S_q] in fp32, and alpha."""
    return _one_head(attention_cases.backward_inputs(case, generator))


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
    """(dQ, dK, dV) as a kernel sums them, tile by tile, in powers of two: a twin that rounds elsewhere."""
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


TWINS = (reference.attention_gradients_rounded, gradients_in_tiles, other_order(gradients_in_tiles))


def work_of(products: int, *outputs: str) -> Callable[[Inputs], Work]:
    """Least work: so many products of 2·S_q·S_k·D operations; inputs read once, outputs written once."""

    def work(inputs: Inputs) -> Work:
        heads = {n: x[None, None] for n, x in inputs.items() if isinstance(x, Tensor) and x.ndim == 2}
        moved = sum(x.numel() * x.element_size() for x in heads.values())
        moved += sum(heads[like].numel() * heads[like].element_size() for like in outputs)
        return Work(2.0 * products * pairs(heads) * inputs["q"].shape[-1], moved)

    return work


def sdpa(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The peer of the forward patients: torch's attention, one head."""
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None], scale=alpha)


def sdpa_causal(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The same with a causal mask; for S_q = S_k, where top-left and bottom-right are one."""
    heads = (x[None, None] for x in (q, k, v))
    return F.scaled_dot_product_attention(*heads, is_causal=True, scale=alpha)


def sdpa_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
) -> tuple[Tensor, ...]:
    """The peer of the backward patients: torch's attention, forward and backward, one head."""
    leaves = [x[None, None].detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = F.scaled_dot_product_attention(*leaves, scale=alpha)
    return torch.autograd.grad(out, leaves, do[None, None])


# ---------------------------------------------------------------- cases

SHARED = (
    attention_case(32, 32, 16, seed=1),
    attention_case(40, 56, 16, seed=2),
    attention_case(56, 24, 16, seed=3),
    attention_case(1, 20, 16, seed=4),
    attention_case(37, 48, 32, seed=5),
)
ON_A_GPU = (attention_case(500, 300, 64, dtype=FP16, seed=8, gpu=True),)
HALF = (
    attention_case(64, 64, 32, dtype=FP16, seed=6),
    attention_case(37, 64, 32, dtype=BF16, seed=7),
)
CASES = (*SHARED, *HALF, *ON_A_GPU)
LONG = (attention_case(100, 24, 16, seed=9),)
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

# ---------------------------------------------------------------- patients


def _patient(
    number: int,
    title: str,
    outputs: tuple[str, ...],
    mistakes: Mapping[str, Mistake],
    cases: tuple[Case, ...] = CASES,
    file: str = "backward_patients",
    **more: Any,
) -> Exercise:
    name = f"clinic_{number}"
    ordinary = {
        "lesson": "10",
        "kind": Kind.KERNEL,
        "unsolved": as_admitted(name),
        "review": too_much_changed(name),
        "timing_case": TIMED,
        "solution": f"flashlearn.lessons.lesson_10_clinic.{file}:{name}",
    }
    asked = {"name": name, "title": title, "outputs": outputs, "cases": cases}
    return make_exercise(**{**ordinary, **asked, "mistakes": mistakes, **more})


def _backward(number: int, title: str, wanted: tuple[int, ...], products: int, **more: Any) -> Exercise:
    outputs = tuple(("dq", "dk", "dv")[i] for i in wanted)
    listed = ", ".join(outputs)
    return _patient(
        number,
        title,
        outputs,
        signature=BACKWARD.format(f"({listed})" if len(outputs) > 1 else listed),
        inputs=backward_inputs,
        reference=only(reference.attention_gradients, *wanted),
        twins=tuple(only(g, *wanted) for g in TWINS),
        gradient=True,
        work=work_of(products, *(("q", "k", "v")[i] for i in wanted)),
        quantities=quantities.backward(*outputs),
        weights=readouts.readout(readouts.dv_weights if "dv" in outputs else readouts.dq_weights),
        catalogue=catalogue.backward(*outputs),
        peer=sdpa_backward,
        peer_name="sdpa_backward",
        **more,
    )


def _forward(number: int, title: str, **more: Any) -> Exercise:
    ordinary = {
        "reference": reference.attention_forward,
        "twins": (reference.attention_forward_rounded, reference.attention_forward_base2),
        "peer": sdpa,
        "peer_name": "sdpa",
        "work": work_of(2, "q"),
        "quantities": quantities.attention_forward,
        "weights": readouts.readout(readouts.forward_weights),
        "catalogue": catalogue.forward(),
        "cases": (*CASES, *LONG),
    }
    return _patient(
        number,
        title,
        ("o", "lse"),
        file="forward_patients",
        signature=FORWARD,
        inputs=forward_inputs,
        output_dtypes={"lse": torch.float32},
        **{**ordinary, **more},
    )


def shares_the_work(answer: Answer, earlier: Earlier) -> str:
    """Patient 3's review: a cure, not a rewriting, and no program that does the work of all."""
    complaint = too_much_changed("clinic_3")(answer, earlier)
    if complaint:
        return complaint
    case = CASES[1]
    inputs = backward_inputs(case, case.generator())
    done = answer.run(inputs, Observed()).completed().observation.operations.get("dot", 0)
    blocks = -(-case.sizes["S_q"] // 16) * -(-case.sizes["S_k"] // 16)
    if done < 2 * blocks * 4 * 2 * 16 * 16 * case.sizes["D"]:
        return ""
    return (
        "The outputs are right now, but each of the programs that share a block still computes the whole "
        "sum. That treats the symptom: let each of them scan only its share of the tiles."
    )


clinic_1 = _backward(
    1,
    "dK alone is wrong",
    (0, 1, 2),
    products=5,
    atomics=True,
    mistakes=mistakes_10.CLINIC_1,
)

clinic_2 = _backward(
    2,
    "dK changes from run to run",
    (1, 2),
    products=4,
    atomics=True,
    mistakes=mistakes_10.CLINIC_2,
)

clinic_3 = _backward(
    3,
    "dK and dV are four times too large",
    (1, 2),
    products=4,
    atomics=True,
    cases=(*CASES, *LONG),
    mistakes=mistakes_10.CLINIC_3,
    review=shares_the_work,
)

clinic_4 = _backward(
    4,
    "Wrong unless S_q is a multiple of 16",
    (1, 2),
    products=4,
    cases=(*CASES, *LONG),
    mistakes=mistakes_10.CLINIC_4,
)

clinic_5 = _forward(
    5,
    "Early queries come out too small",
    reference=causal_forward,
    twins=(causal_forward_rounded,),
    peer=sdpa_causal,
    peer_name="sdpa_causal",
    work=work_of(1, "q"),
    quantities=quantities.causal_forward,
    weights=readouts.readout(readouts.forward_weights, causal=True),
    catalogue=catalogue.forward(causal=True),
    cases=(*SHARED, *GENTLE),
    mistakes=mistakes_10.CLINIC_5,
)

clinic_6 = _forward(
    6,
    "Right forward, garbage backward",
    mistakes=mistakes_10.CLINIC_6,
)

clinic_7 = _backward(
    7,
    "All tests pass, and the model trains worse",
    (0,),
    products=3,
    mistakes=mistakes_10.CLINIC_7,
)

clinic_8 = _forward(
    8,
    "Infinite for large values in fp16",
    cases=(*CASES, *LARGE_V),
    mistakes=mistakes_10.CLINIC_8,
)

clinic_9 = _forward(
    9,
    "Right for short sequences only",
    mistakes=mistakes_10.CLINIC_9,
)

clinic_10 = _backward(
    10,
    "Works for self-attention, crashes for cross-attention",
    (1, 2),
    products=4,
    cases=(*CASES, attention_case(48, 80, 16, seed=13), attention_case(80, 48, 16, seed=14)),
    mistakes=mistakes_10.CLINIC_10,
)

# ---------------------------------------------------------------- tests on trial


def trial_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The first test, the same for every defendant, and the defendant's number."""
    first = mutants.draw(32, 32)
    return {
        **dict(zip(("q", "k", "v", "do", "alpha"), first[:5], strict=True)),
        "number": case.sizes["number"],
    }


def right_verdict(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, number: int = 0) -> Tensor:
    """1: a mutant is killed, a right kernel is spared."""
    return torch.ones(1, dtype=torch.int64)


def ask_for_suite(function: Callable[..., Any], inputs: Inputs) -> Any:
    """The learner's suite, made from the first test."""
    return function(*list(inputs.values())[:5])


def try_suite(suite: Any, inputs: Inputs) -> Tensor:
    """1 if the learner's suite gives this defendant its due, else 0."""
    defendant = mutants.DEFENDANTS[inputs["number"]]
    if any(isinstance(part, Tensor) for part in (suite, *(suite if type(suite) is tuple else ()))):
        return torch.zeros(1, dtype=torch.int64)  # tensors are no suite, and kill nobody
    killed = mutants.killed_by(mutants.checked(suite), defendant.fault) is not None
    return torch.tensor([int(killed is defendant.guilty)])


def verdict_on(case: Case) -> str:
    """What went wrong with one defendant: a mutant lives, or a right kernel was condemned."""
    number = case.sizes["number"]
    defendant = mutants.DEFENDANTS[number]
    if defendant.guilty:
        return f"No trial of your suite kills mutant {number + 1}: {defendant.nature}."
    return f"A trial of your suite condemns right {number - 11}: {defendant.nature}."


tests_on_trial = Exercise(
    name="tests_on_trial",
    lesson="10",
    kind=Kind.TORCH,
    title="A suite that kills twelve mutants and spares three right kernels",
    signature="(q, k, v, do, alpha) -> suite",
    outputs=("verdict",),
    inputs=trial_inputs,
    cases=tuple(
        Case(
            f"{'mutant' if d.guilty else 'right'} {i + 1 if d.guilty else i - 11}: {d.nature}", {"number": i}
        )
        for i, d in enumerate(mutants.DEFENDANTS)
    ),
    judged=HowJudged(
        reference=right_verdict,
        call=ask_for_suite,
        read=try_suite,
        says=verdict_on,
    ),
    explained=HowExplained(
        mistakes=mistakes_10.TRIALS,
        catalogue=suites.NAMES,
        explain=suites.verdict_on_suite,
    ),
    points=3,
)

EVERY = (
    *(clinic_1, clinic_2, clinic_3, clinic_4, clinic_5, clinic_6, clinic_7, clinic_8, clinic_9, clinic_10),
    tests_on_trial,
)
BY_NAME = {exercise.name: exercise for exercise in EVERY}


def with_sizes(name: str, **sizes: Any) -> Case:
    """A case of a patient's with other sizes, for the lesson's own tests: S_q, S_k, D, and Case's fields."""
    fields = {key: sizes.pop(key) for key in ("S_q", "S_k", "D") if key in sizes}
    first = BY_NAME[name].cases[0]
    return dataclasses.replace(first, sizes={**first.sizes, **fields}, **sizes)
