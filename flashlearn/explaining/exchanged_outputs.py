"""A declared mistake in an answer that, besides, has two outputs in each other's place."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import torch

from flashlearn.exercise import Exercise
from flashlearn.explaining.declared_mistakes import find_declared
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.outputs_exchanged import OutputsExchanged
from flashlearn.explaining.findings.two_mistakes import AtOnce
from flashlearn.judging.tolerance import largest_error
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


def find_exchanged_outputs(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """What explains everything once two outputs are put back: one mistake, or nothing more."""
    found = []
    for pair in combinations(exercise.outputs, 2):
        restored = [_restored(outcome, *pair) for outcome in outcomes]
        if None in restored or any(map(_spoilt, outcomes, restored)):
            continue
        beside = _besides_exchanged(exercise, pair, restored)
        if beside is not None:
            found.append(beside)
    return found[0] if len(found) == 1 else None


def _spoilt(outcome: Outcome, restored: Outcome) -> bool:
    """True for a case whose numbers are right as they are, and would not be the other way round."""
    return all(check.ok for check in outcome.outputs) and restored.status is not Status.PASS


def _besides_exchanged(exercise: Exercise, pair: tuple[str, str], restored: list[Outcome]) -> Finding | None:
    each = [Finding(OutputsExchanged(a, b, exercise.outputs)) for a, b in (pair, pair[::-1])]
    if all(outcome.status is Status.PASS for outcome in restored):
        return Finding(Outputs(tuple(each)))
    beside = find_declared(exercise, restored, pairs=False)
    if beside is None or not isinstance(beside.kind, Declared) or beside.kind.scope is not None:
        return None
    return Finding(AtOnce(parts=(each[0], beside)), fits=beside.fits, of=beside.of)


def _restored(outcome: Outcome, one: str, other: str) -> Outcome | None:
    """The outcome with two outputs in each other's place; None if they cannot be."""
    checks = {check.name: check for check in outcome.outputs}
    a, b = checks.get(one), checks.get(other)
    if a is None or b is None or a.problem or b.problem or not _alike(a.got, b.got):
        return None
    checks |= {one: _with(a, b), other: _with(b, a)}
    status = Status.PASS if all(check.ok for check in checks.values()) else Status.WRONG
    return replace(outcome, outputs=tuple(checks.values()), status=status)


def _alike(a: object, b: object) -> bool:
    tensors = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    return tensors and (a.shape, a.dtype) == (b.shape, b.dtype)


def _with(check: OutputCheck, other: OutputCheck) -> OutputCheck:
    """The check of one output with what came back as another."""
    error = largest_error(other.got, check.expected)
    return replace(check, got=other.got, writers=other.writers, error=error, ok=error <= check.allowed)
