"""Which elements of an input the right answer can depend on: not those that a mask hides everywhere."""

from __future__ import annotations

from typing import Any

from flashlearn.explaining.findings.rule import Clue, near
from flashlearn.judging.references import convert
from flashlearn.later import torch
from flashlearn.running.values import as_tuple

FAR = 1000.0
"""What without a gradient moves nothing however far it is moved is not needed; a value under a maximum is."""


def needed(clue: Clue, name: str, unread: torch.Tensor) -> torch.Tensor | None:
    """Those of the `unread` elements that the output depends on, in whole rows; None if on none of them."""
    inputs = convert(clue.inputs, torch.float64)
    if not inputs[name].is_floating_point():
        return None
    before = _output(clue, inputs)
    if _stays(clue, inputs, name, unread, 1.0, before):
        return None
    idle = unread & ~_rows_with_a_gradient(clue, inputs, name)
    apart = bool(idle.any()) and all(_stays(clue, inputs, name, idle, by, before) for by in (FAR, -FAR))
    return unread & ~idle if apart else unread


def _output(clue: Clue, inputs: dict[str, Any]) -> torch.Tensor:
    """The right numbers of the clue's output for other inputs."""
    return as_tuple(clue.exercise.reference(**inputs))[clue.exercise.outputs.index(clue.name)]


def _stays(
    clue: Clue, inputs: dict[str, Any], name: str, moved: torch.Tensor, by: float, before: torch.Tensor
) -> bool:
    """Whether the output is the same once these elements are moved."""
    other = {**inputs, name: torch.where(moved, inputs[name] + by, inputs[name])}
    return near(_output(clue, other), before, clue.check.allowed)


def _rows_with_a_gradient(clue: Clue, inputs: dict[str, Any], name: str) -> torch.Tensor:
    """The rows of an input of which some element has a gradient; all where there is no derivative."""
    leaf = inputs[name].detach().clone().requires_grad_()
    try:
        with torch.enable_grad():
            output = _output(clue, {**inputs, name: leaf})
            (gradient,) = torch.autograd.grad(output.square().sum(), leaf, allow_unused=True)
    except RuntimeError:
        return torch.ones_like(inputs[name], dtype=torch.bool)
    if gradient is None:
        return torch.zeros_like(inputs[name], dtype=torch.bool)
    one_per_row = leaf.ndim < 2 or name in ("lse", "delta")
    has = gradient != 0  # NaN is no 0
    return has if one_per_row else has.any(-1, keepdim=True).expand(has.shape)
