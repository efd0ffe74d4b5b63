"""What a wrong attention kernel attends to: its weights P, read out and compared pair by pair.

The exercise says how to read them (`exercise.explained.weights`). A pair that gets weight and must not is a
leak, a pair that gets none and must is missing, and weights that differ by a factor tell which number is
wrong.
"""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise
from flashlearn.explaining.weight_faults import Weights, leak, missing, rows, scaled
from flashlearn.outcome import Finding, Outcome
from flashlearn.running.answer import Answer
from flashlearn.running.circumstances import Observed

LARGEST = 128 * 128
"""Pairs of the largest case that is read out."""


class Stopped(Exception):
    """The learner's function did not come to its end."""


def weights_finding(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """What the weights of the smallest telling case show, if they are wrong in a way that has a name."""
    if exercise.explained.weights is None:
        return None
    for outcome in sorted(wrong, key=_usefulness)[:4]:
        if not 64 <= _pairs(outcome) <= LARGEST:
            continue
        found = _read(exercise, outcome, answer)
        for look in (leak, missing, rows, scaled) if found is not None else ():
            finding = look(found, outcome)
            if finding is not None:
                return finding
    return None


def _usefulness(outcome: Outcome) -> tuple[bool, int]:
    """Cases in which some queries see nothing come last: what is missing there is easily misread."""
    sizes = outcome.case.sizes
    return sizes.get("S_q", 0) > sizes.get("S_k", 0), _pairs(outcome)


def _pairs(outcome: Outcome) -> int:
    sizes = outcome.case.sizes
    return sizes.get("S_q", 0) * sizes.get("S_k", 0)


def _read(exercise: Exercise, outcome: Outcome, answer: Answer) -> Weights | None:
    """The weights of the head that is most wrong; None if they cannot be read."""
    inputs = exercise.inputs(outcome.case, outcome.case.generator())
    read, right_of = exercise.explained.weights

    how = Observed(outcome.case.seed, direct=True, limit=exercise.judged.time_limit)

    def launcher(**values):
        evidence = answer.run(values, how)
        if evidence.raised is not None:
            raise Stopped(evidence.raised.text)
        return evidence.returned

    try:
        got = read(launcher, inputs)
    except Exception:
        return None  # other inputs may stop a kernel that ran on the case's own
    right, scores, visible = right_of(inputs)
    if got.shape != right.shape:
        return None
    told = torch.isfinite(got).all(-1, keepdim=True)  # a row of NaN tells nothing; the others may
    if int(told.sum()) < 0.5 * told.numel():
        return None
    got = torch.where(told, got, right)
    flat = [t.reshape(-1, *t.shape[-2:]) for t in (got, right, scores)]
    head = int((flat[0] - flat[1]).abs().amax((1, 2)).argmax())
    noise = 4 * torch.finfo(outcome.case.dtype).eps + 1e-6
    return Weights(*(t[head] for t in flat), visible, noise, recomputed="lse" in inputs)
