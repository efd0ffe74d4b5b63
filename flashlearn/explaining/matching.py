"""Is this output what a mistake would give? One output of one case against one prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from flashlearn.judging.tolerance import largest_error
from flashlearn.outcome import OutputCheck

CLOSER = 0.1
"""A named mistake must explain a wrong output at least ten times better than the truth does."""

NEARER = 1e-4
"""Outputs this much nearer to the mistake than to the truth are its: large values round more coarsely."""


@dataclass(frozen=True)
class Fit:
    """How an output meets a prediction.

    `misfit` is the distance over what rounding allows, at most 1. `explains` says that the output is wrong
    and far nearer to the prediction than to the truth, `numbers` how many wrong numbers were predicted: NaN
    and infinities are not counted, since many mistakes end in them. A `loose` fit agrees where both have
    numbers, and has its NaN elsewhere, or nothing at all was written: it proves nothing, and speaks
    against nothing.
    """

    misfit: float
    explains: bool
    numbers: int = 0
    loose: bool = False


def fit(predicted: torch.Tensor, check: OutputCheck) -> Fit | None:
    """The fit of one output, or None if the prediction is not what the learner has."""
    if not isinstance(predicted, torch.Tensor) or not isinstance(check.got, torch.Tensor):
        return None
    if predicted.shape != check.got.shape:
        return None
    if _unwritten(check):
        hidden = check.writers < 0
        filled = torch.equal(check.got[hidden], check.expected[hidden].to(check.got.dtype))
        if filled:  # only the rest is asked about
            predicted = torch.where(hidden, check.expected, predicted)
        elif not _same(predicted[hidden], check.got[hidden]):
            return None  # a kernel that leaves out just these elements would have left them alike
        elif bool(hidden.all()):
            return Fit(1.0, False, loose=True)  # nothing was written, for whatever reason
    if _apart(predicted, check) > 2 * _most(check):
        return None
    predicted = predicted.to(check.got.dtype).double()
    error = largest_error(check.got, predicted)
    allowed = max(2 * check.allowed if not check.problem else 0.0, rounding(predicted, check.got.dtype))
    if not check.ok:
        allowed = max(allowed, NEARER * check.largest_finite_error)
    if not error <= allowed:
        return _loosely(predicted, check, allowed)
    # where the truth has another shape, agreeing with the mistake's says enough
    explains = bool(check.problem) or (not check.ok and error <= CLOSER * check.error)
    return Fit(
        error / allowed if allowed else 0.0, explains, _predicted_wrong(predicted, check) if explains else 0
    )


def _loosely(predicted: torch.Tensor, check: OutputCheck, allowed: float) -> Fit | None:
    """A fit where both have numbers, if both have NaN or infinities somewhere, though not in the same places.

    What becomes of an overflow depends on the order of the operations, and on what a mask hides afterwards.
    """
    got = check.got.double()
    both = torch.isfinite(got) & torch.isfinite(predicted)
    if check.ok or check.problem or got.shape != check.expected.shape or _unwritten(check):
        return None
    if bool(torch.isfinite(got).all()) or bool(torch.isfinite(predicted).all()):
        return None
    if not largest_error(got[both], predicted[both]) <= allowed:
        return None
    return Fit(1.0, False, loose=True)


def distance(predicted: torch.Tensor, check: OutputCheck) -> float:
    """How far an output is from a prediction, or more than its error is; 0 where nothing can be said.

    That is where one of them is not finite.
    """
    if not isinstance(predicted, torch.Tensor) or not isinstance(check.got, torch.Tensor):
        return math.inf
    if predicted.shape != check.got.shape:
        return math.inf
    if not math.isfinite(check.error) or not bool(torch.isfinite(predicted).all()):
        return 0.0
    apart = _apart(predicted, check)
    if apart > check.error:
        return apart
    return float((predicted.double() - check.got.double()).abs().max()) if predicted.numel() else 0.0


def _apart(predicted: torch.Tensor, check: OutputCheck) -> float:
    """The largest difference in a few elements; 0 where one of these is not finite."""
    at = check.sample
    gap = (
        float((predicted.flatten()[at].double() - check.got.flatten()[at].double()).abs().max())
        if len(at)
        else 0.0
    )
    return gap if math.isfinite(gap) else 0.0


def _most(check: OutputCheck) -> float:
    """What rounding may at most make of an output that fits."""
    wrong = NEARER * check.largest_finite_error if not check.ok else 0.0
    eps = torch.finfo(check.got.dtype).eps if check.got.dtype.is_floating_point else 0.0
    return max(2 * check.allowed if not check.problem else 0.0, wrong, 4 * eps * check.largest)


def _predicted_wrong(predicted: torch.Tensor, check: OutputCheck) -> int:
    if predicted.shape != check.expected.shape:
        return predicted.numel()
    wrong = (predicted - check.expected).abs() > 4 * check.allowed
    return int((wrong & torch.isfinite(predicted)).sum())


def _unwritten(check: OutputCheck) -> bool:
    """True if no program wrote some of it: what torch.empty held is no formula's result."""
    return check.writers is not None and bool((check.writers < 0).any())


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """True if two tensors hold the same numbers, NaN where the other has NaN."""
    return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all())


def visible(predicted: torch.Tensor, check: OutputCheck) -> bool:
    """True if the prediction is clearly wrong: then a right output speaks against the mistake."""
    if predicted.shape != check.expected.shape:
        return True
    return not largest_error(predicted.to(check.got.dtype), check.expected) <= 2 * check.allowed


def rounding(values: torch.Tensor, dtype: torch.dtype) -> float:
    """Four rounding errors at the values' own magnitude: wrong numbers may be far larger than right ones."""
    if not dtype.is_floating_point:
        return 0.0
    finite = values[torch.isfinite(values)]
    return 4 * torch.finfo(dtype).eps * float(finite.abs().max()) if finite.numel() else 0.0
