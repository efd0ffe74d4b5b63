"""Which outcomes can be compared with predictions, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch

from flashlearn.outcome import Outcome, OutputCheck, Status


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
