"""What is wrong in the fp32 cases, and what besides in those of half precision.

A mistake in the numbers and too much rounding are two mistakes: no one of them explains every wrong case,
and an edit of either corrects only its own.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.explaining.findings.two_mistakes import ByPrecision, InFp32
from flashlearn.later import torch
from flashlearn.outcome import Finding, Outcome, Status

ROUNDING_SHARE = 0.1
"""Errors up to this share of the largest number may come of rounding to half precision."""

Explain = Callable[[list[Outcome]], Finding | None]


def split_by_precision(outcomes: list[Outcome], explain: Explain, edit: Explain) -> Finding | None:
    """Two findings, each for its cases, or the one that is sure with how many it fits; None if neither is.

    `explain` names what is wrong with the cases that it is given. `edit` looks for an edit that makes them
    right; it takes longer, and is asked only where one half is known. Both see the right cases too.
    """
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    full = [o for o in wrong if o.case.dtype is torch.float32]
    half = [o for o in wrong if o.case.dtype is not torch.float32]
    if all(map(_is_slight, full)) or not any(map(_is_slight, half)):
        return None  # nothing is wrong in fp32, or nothing speaks for rounding in half precision
    second = _sure(explain(_without(outcomes, full)))
    first = _sure(explain(_without(outcomes, half)))
    if first is None and second is not None:
        first = edit(_without(outcomes, half))
    if first is None:
        return None
    if second is None:
        return Finding(InFp32((first,)), first.place, len(full), len(wrong), partial=True)
    if second.names == first.names:
        return None  # if it held, it would have been named for all cases
    return Finding(ByPrecision((first, second)), first.place, len(wrong), len(wrong))


def _is_slight(outcome: Outcome) -> bool:
    """Whether every number is about right."""
    for check in outcome.outputs:
        if not isinstance(check.expected, torch.Tensor) or not check.expected.numel():
            return False
        finite = check.expected[torch.isfinite(check.expected)].abs()
        largest = float(finite.max()) if finite.numel() else 0.0
        if not check.ok and not check.error <= ROUNDING_SHARE * largest:
            return False
    return bool(outcome.outputs)


def _without(outcomes: list[Outcome], left_out: list[Outcome]) -> list[Outcome]:
    names = {o.case.name for o in left_out}
    return [o for o in outcomes if o.case.name not in names]


def _sure(finding: Finding | None) -> Finding | None:
    return finding if finding is not None and finding.conclusive else None
