"""A wrong shape, dtype or type of an output: nothing else can be said before it is right."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.judging.tolerance import misfit_clause
from flashlearn.later import torch
from flashlearn.outcome import Misfit, Wording


@dataclass(frozen=True)
class Shape(Rule):
    """`another` says that the shape is that of another output.

    With `by_autograd` all outputs but the first are gradients, which autograd returns. It is `alone` where
    every case passes once the dtype is the right one.
    """

    name = "shape"
    rank = 10
    about_form = True
    conclusive = True

    output: str
    misfit: Misfit
    case: str
    outputs: tuple[str, ...]
    another: bool = False
    by_autograd: bool = False
    alone: bool = False

    @property
    def hides(self) -> bool:  # type: ignore[override]
        """Unless the numbers were compared all the same."""
        return not self.alone

    @classmethod
    def look(cls, clue: Clue) -> Shape | None:
        """What does not fit, if something does not."""
        misfit = clue.check.misfit
        if misfit is None:
            return None
        checks = clue.outcome.outputs
        shapes = [tuple(c.expected.shape) for c in checks if isinstance(c.expected, torch.Tensor)]
        outputs, judged = clue.exercise.outputs, clue.exercise.judged
        another = misfit.got in shapes and len(outputs) > 1
        by_autograd = judged.gradient and judged.call is not None
        return cls(clue.name, misfit, clue.outcome.case.name, outputs, another, by_autograd)

    def wording(self) -> Wording:
        """The misfit, and a question about where it comes from."""
        seen = f"{self.output} {misfit_clause(self.misfit)}"
        return Wording(f"{seen} (case {self.case}).", self._step(), (self.output, self.misfit), None)

    def _step(self) -> str:
        what = "dtype" if self.misfit.what == "dtype" else "shape"
        step = f"Which line gives {self.output} its {what}?"
        if self.misfit.what == "nothing" and self.by_autograd and self.output != self.outputs[0]:
            return (
                "backward returns one value for each argument of forward, in their order, and None for those "
                "that need none: `ctx.needs_input_grad[0]` is about the first argument after ctx. And is "
                "each tensor given to `apply` itself, not detached?"
            )
        if self.misfit.what == "nothing":
            return f"Return {', '.join(self.outputs)}, in this order."
        if self.another:
            return f"Is {', '.join(self.outputs)} the order in which they are returned? {step}"
        return f"{_about_dimensions(self.misfit)} {step}".strip() if self.misfit.what == "shape" else step


def _about_dimensions(misfit: Misfit) -> str:
    """A question about a dimension that is missing, or one too many."""
    got, expected = misfit.got, misfit.expected
    if len(got) < len(expected) and _within(got, expected):
        return "A dimension is missing: where is one summed, or indexed, that should stay?"
    if len(got) > len(expected) and _within(expected, got):
        return "There is one dimension too many: which one should still be summed, or has size 1?"
    if len(got) > 1 and got == (*expected[:-2], *expected[-2:][::-1]):
        return "Rows and columns are swapped: is a transpose missing, or is there one too many?"
    return ""


def _within(few: tuple[int, ...], many: tuple[int, ...]) -> bool:
    """Whether the sizes are the others, in their order, with some left out."""
    rest = iter(many)
    return all(size in rest for size in few)
