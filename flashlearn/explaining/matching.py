"""Is this output what a mistake would give? One output of one case against one prediction.

Also which outcomes can be compared with predictions, and in which order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from flashlearn.judging.references import largest_error
from flashlearn.later import torch, types_of
from flashlearn.outcome import Outcome, OutputCheck, Status

CLOSER = 0.1
"""A named mistake must explain a wrong output at least ten times better than the truth does."""

NEARER = 1e-4
"""Outputs this much nearer to the mistake than to the truth are its: large values round more coarsely."""


@dataclass(frozen=True)
class Fit:
    """How an output meets a prediction.

    `misfit` is the distance over what rounding allows, at most 1. `explains` says that the output is wrong
    and far nearer to the prediction than to the truth, `numbers` how many wrong numbers were predicted. NaN
    and infinities are not counted, nor an output of nothing but zeros: many mistakes end in them. A `loose`
    fit agrees where both have numbers, and has its NaN elsewhere, or nothing at all was written: it proves
    nothing, and speaks against nothing.
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
    if not check.ok and check.got.dtype.is_floating_point:  # integers are rounded by nothing
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
    floating = check.got.dtype.is_floating_point
    wrong = NEARER * check.largest_finite_error if floating and not check.ok else 0.0
    eps = torch.finfo(check.got.dtype).eps if floating else 0.0
    return max(2 * check.allowed if not check.problem else 0.0, wrong, 4 * eps * check.largest)


def _predicted_wrong(predicted: torch.Tensor, check: OutputCheck) -> int:
    if predicted.shape != check.expected.shape:
        return predicted.numel()
    finite = torch.isfinite(predicted)
    if not bool(predicted[finite].any()):
        return 0
    wrong = (predicted - check.expected).abs() > 4 * check.allowed
    return int((wrong & finite).sum())


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


def comparable(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes whose numbers can be compared: the observed ones, or where there are none the compiled."""
    every = [o for o in outcomes if o.outputs and (o.status is Status.WRONG or is_right(o))]
    observed = [o for o in every if o.mode == "observed"]
    wrong = any(o.status is Status.WRONG for o in observed)
    return observed if wrong else every


def is_right(outcome: Outcome) -> bool:
    """True where the numbers are right, whatever computed them: a mistake that would show was not made."""
    right = outcome.status in (Status.PASS, Status.NOT_YOURS)
    return right and bool(outcome.outputs) and all(check.ok for check in outcome.outputs)


def has_wrong_numbers(check: OutputCheck) -> bool:
    """True if some elements are finite, and wrong: also where the right answer is infinite."""
    if check.ok or check.problem or not isinstance(check.got, types_of("torch", "Tensor")):
        return False
    got = check.got.double()
    finite = torch.isfinite(got)
    return bool(((got - check.expected).abs()[finite] > check.allowed).any())


def is_unfit(check: OutputCheck) -> bool:
    """True for an output whose type or dtype is wrong: that has to be said first."""
    wrong_dtype = check.misfit is not None and check.misfit.what == "dtype"
    return not isinstance(check.got, torch.Tensor) or wrong_dtype


NEAR_LIMIT = 4.0
"""An error up to this factor times what is allowed may come from rounding in another order."""

AMPLIFICATION = 256.0
"""Where the right answer is zero up to rounding, a wrong factor may amplify the rounding this much."""


def is_faint(check: OutputCheck) -> bool:
    """True for an error that rounding may have made: near the limit, or where rounding is all there is."""
    if check.ok or check.problem or not math.isfinite(check.error) or check.allowed == 0.0:
        return False
    if check.error <= NEAR_LIMIT * check.allowed and not check.rms_ratio > NEAR_LIMIT:
        return True
    nothing = float(check.expected.abs().max()) <= check.allowed
    return nothing and check.error <= AMPLIFICATION * check.allowed


def size(outcome: Outcome) -> int:
    """What a formula costs in the case: attention by its sizes, else by outputs; thrice in half precision.

    A case of few numbers, or of zeros, proves little and comes last.
    """
    targets = _wrong_targets(outcome)
    numbers = sum(t.numel() for t in targets)
    lengths = [size for name, size in outcome.case.sizes.items() if name in ("S_q", "S_k", "rows", "columns")]
    weak = numbers < 16 or min(lengths, default=2) < 2 or any(not bool(t.any()) for t in targets)
    return work(outcome) + (1 << 40 if weak else 0)


def work(outcome: Outcome) -> int:
    """Numbers that a formula has to do with in the case, counted thrice in half precision."""
    if "S_q" in outcome.case.sizes:
        numbers = math.prod(outcome.case.sizes.values())
    else:
        numbers = sum(t.numel() for t in _wrong_targets(outcome))
    return numbers * (3 if outcome.case.dtype.itemsize == 2 else 1)


def _wrong_targets(outcome: Outcome) -> list[torch.Tensor]:
    """The right answers of the outputs that are wrong."""
    return [c.expected for c in outcome.outputs if not c.ok and isinstance(c.expected, torch.Tensor)]
