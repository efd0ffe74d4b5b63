"""Elements that no program writes, and what is wrong with the others."""

from __future__ import annotations

from dataclasses import replace

import torch

from flashlearn.exercise import Exercise
from flashlearn.explaining.declared_mistakes import find_declared
from flashlearn.explaining.findings.two_mistakes import PartlyWritten
from flashlearn.judging.cases import run_observed
from flashlearn.judging.tolerance import largest_error
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


def partly_written(outcomes: list[Outcome]) -> bool:
    """True if some elements of a wrong output are written by programs, and some by none."""
    return any(_filled(outcome) is not outcome for outcome in outcomes if not _empty(outcome))


def find_declared_where_written(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """Elements that no program writes, and what is wrong with the others: two findings in one."""
    outcomes = [o for o in outcomes if not _empty(o)]
    filled = [_filled(outcome) for outcome in outcomes]
    if not outcomes or all(a is b for a, b in zip(filled, outcomes, strict=True)):
        return None
    found = find_declared(exercise, filled)
    if found is None:
        return None
    bad = next(
        (o, c) for o in outcomes for c in o.outputs if c.writers is not None and bool((c.writers < 0).any())
    )
    if _leaves_the_same(exercise, found.mistake, *bad):
        return found
    writers = bad[1].writers
    count = int((writers < 0).sum())
    kind = PartlyWritten(bad[1].name, bad[0].case.name, count, writers.numel(), (found,))
    return Finding(kind, None, found.fits, found.of, found.partial)


def _leaves_the_same(exercise: Exercise, name: str, outcome: Outcome, check: OutputCheck) -> bool:
    """True if the mistake is a kernel that leaves just these elements unwritten: then it is one mistake."""
    launcher = exercise.explained.mistakes[name].launcher if name in exercise.explained.mistakes else None
    if launcher is None:
        return False
    twin = run_observed(exercise, launcher, outcome.case)
    same = next((c for c in twin.outputs if c.name == check.name and c.writers is not None), None)
    return same is not None and torch.equal(same.writers < 0, check.writers < 0)


def _empty(outcome: Outcome) -> bool:
    """True if no program wrote anything of an output."""
    return any(c.writers is not None and bool((c.writers < 0).all()) for c in outcome.outputs)


def _filled(outcome: Outcome) -> Outcome:
    """The outcome as if what was never written were right; itself if everything was written."""
    if outcome.status is not Status.WRONG:
        return outcome
    checks = []
    for check in outcome.outputs:
        unwritten = check.writers < 0 if check.writers is not None and not check.problem else None
        if unwritten is None or not bool(unwritten.any()) or bool(unwritten.all()):
            checks.append(check)
            continue
        got = torch.where(unwritten, check.expected.to(check.got.dtype), check.got)
        error = largest_error(got, check.expected)
        checks.append(replace(check, got=got, error=error, ok=error <= check.allowed))
    if all(a is b for a, b in zip(checks, outcome.outputs, strict=True)):
        return outcome
    status = Status.PASS if all(c.ok for c in checks) else Status.WRONG
    return replace(outcome, outputs=tuple(checks), status=status)
