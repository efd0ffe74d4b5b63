"""Whether a gradient was computed by formulas, or by many runs of the forward pass.

>>> HowJudged(…, seen=one_evaluation(reference, inputs))

A difference quotient, in whichever precision, and a derivative along a complex step need a forward pass for
each element of the inputs. Formulas do the work of a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from flashlearn.exercise import Case, Inputs
from flashlearn.interpreter.launcher_watch import CONSTANT, COPIES, WITH_AUTOGRAD, LauncherWatch
from flashlearn.outcome import Outcome

MOST = 20
"""How many times the reference's operations an answer may do, over all cases."""
BY_AUTOGRAD = "The numbers are right, but autograd computed them. Here your own formulas must."
OFTEN = (
    "The numbers are right, but about {times:.0f} times as much was computed as the formulas need, as if the "
    "forward pass had run for every element that is differentiated. Here your own formulas must do it."
)


def one_evaluation(
    reference: Callable[..., Any], inputs: Callable[[Case, torch.Generator], Inputs]
) -> Callable[[Sequence[Outcome]], str]:
    """A sentence if a case's run had autograd on, or all did many times the reference's operations."""

    def seen(outcomes: Sequence[Outcome]) -> str:
        done = needed = 0
        for outcome in outcomes:
            if outcome.observation is not None:
                if any(map(_is_autograds, outcome.observation.in_torch)):
                    return BY_AUTOGRAD
                done += operations(outcome.observation.in_torch)
                with torch.no_grad():
                    needed += operations(counted(reference, inputs(outcome.case, outcome.case.generator())))
        return OFTEN.format(times=done / needed) if done > MOST * needed else ""

    return seen


def unforeseen() -> torch.Generator:
    """A generator with a seed that nobody knows: a review's inputs then look like any case's."""
    generator = torch.Generator()
    generator.seed()
    return generator


def operations(in_torch: Mapping[str, int]) -> int:
    """The elements that were computed, and not only moved; of a product, the pairs."""
    none = COPIES | CONSTANT | {WITH_AUTOGRAD}
    return sum(count for name, count in in_torch.items() if name not in none)


def _is_autograds(operation: str) -> bool:
    """Whether an operation is one that autograd could follow, or one of those that it does itself."""
    return operation == WITH_AUTOGRAD or "backward" in operation


def counted(function: Callable[..., Any], given: Inputs) -> Counter[str]:
    """What a function has torch do, as `Observation.in_torch` says it."""
    with LauncherWatch(None) as watch:
        function(**given)
    return watch.counted
