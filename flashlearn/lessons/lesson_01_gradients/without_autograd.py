"""For exercises that ask for formulas in plain torch: autograd is off, and an answer that uses it is refused.

>>> Exercise(…, kind=Kind.TORCH, call=call, review=review_on(lambda: map(drawn, cases)))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from flashlearn.exercise import Earlier, Inputs
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import PlainCall

OFF = "Autograd is switched off here: write the formulas of the gradients themselves."
USED = "The numbers are right, but autograd computed them. Here your own formulas must."


def call(function: Callable[..., Any], given: Inputs) -> Any:
    """Call without autograd; where that is what stopped the function, the error says so."""
    try:
        with torch.no_grad():
            return function(*given.values())
    except RuntimeError as error:
        if "does not require grad" in str(error):
            error.args = (OFF,)  # the same error, so that it still knows the learner's line
        raise


def review_on(draws: Callable[[], Iterable[Inputs]]) -> Callable[[Answer, Earlier], str]:
    """A review that calls an answer with these inputs, and watches whether anything is kept for backward.

    Operations keep tensors only for autograd, and torch.func's transforms refuse to run while hooks
    watch; either way an answer that switches autograd on again is found out.
    """

    def review(answer: Answer, earlier: Earlier) -> str:
        for inputs in draws():
            evidence = answer.run(inputs, PlainCall(autograd=False, saved=True))
            if evidence.saved or evidence.raised is not None:
                return USED
        return ""

    return review
