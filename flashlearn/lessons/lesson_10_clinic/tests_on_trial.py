"""`tests_on_trial`: a suite that kills twelve mutants and spares three right kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_10_clinic import mutants, suites
from flashlearn.lessons.lesson_10_clinic.mutants import Trial, draw


def _large(trial: Trial) -> tuple[Trial, Trial]:
    return trial._replace(q=10 * trial.q, k=10 * trial.k), trial._replace(do=1e6 * trial.do)


def _k_by_columns(trial: Trial) -> Trial:
    return trial._replace(k=trial.k.T.contiguous().T)


def _suite(trials: Callable[[Trial], list[Trial]]) -> Callable:
    """An answer to tests_on_trial that adds these trials to the one it is given, which is square."""
    return lambda q, k, v, do, alpha: trials(Trial(q, k, v, do, alpha))


MISTAKES = {
    "one ordinary test": Mistake(
        "Your suite sees what one square test of ordinary numbers sees: the loudest faults, and no others.",
        "Take the assumptions of that test one by one: its sizes, its alpha, its mask, its layout, its "
        "values.",
        launcher=_suite(lambda first: [first]),
    ),
    "every test is square": Mistake(
        "The survivors are those of a suite in which S_q = S_k in every trial: they confuse two lengths, or "
        "two corners of the mask, or have never met a query that sees nothing.",
        "Take more queries than keys, and more keys than queries, both with a causal mask.",
        launcher=_suite(
            lambda first: [
                _k_by_columns(draw(20, 20, 24, alpha=0.4)),
                draw(40, 40, causal=True),
                *_large(first),
            ]
        ),
    ),
    "every test is a multiple of the block": Mistake(
        "The survivors are those of a suite in which every length is a multiple of 16, and every D a power "
        "of two: what goes wrong at a ragged edge is never tested.",
        "One trial with odd lengths and an odd D is enough.",
        launcher=_suite(
            lambda first: [
                _k_by_columns(draw(16, 32, alpha=0.4, causal=True)),
                draw(48, 32, causal=True),
                *_large(first),
            ]
        ),
    ),
    "every test has ordinary values": Mistake(
        "The survivors are those of a suite that varies sizes, masks and layouts, but not the values: "
        "whatever overflows survives.",
        "Add one trial with scores around 100, and one with a large dO.",
        launcher=_suite(
            lambda first: [_k_by_columns(draw(20, 40, 24, alpha=0.4, causal=True)), draw(40, 20, causal=True)]
        ),
    ),
}


def trial_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The first test, the same for every defendant, and the defendant's number."""
    first = draw(32, 32)
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
        return torch.zeros(1, dtype=torch.int64)  # a tensor is not a suite
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
        mistakes=MISTAKES,
        catalogue=suites.NAMES,
        explain=suites.verdict_on_suite,
    ),
    points=3,
)
