"""A review: a launcher that takes the sides of its tile must be right where two of them differ.

>>> not_only_for_squares("tma_copy", ("x",), (64, 32))          # a review of tma_copy
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import torch

from flashlearn.exercise import Earlier
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

SIZES = {"x": (70, 100), "a": (70, 130), "b": (130, 100)}
"""Shapes of the arguments: several tiles each way, and no whole number of them."""


def not_only_for_squares(
    name: str, arguments: tuple[str, ...], block: tuple[int, ...]
) -> Callable[[Answer, Earlier], str]:
    """The review of exercise `name`, whose launcher may take its tile as `block` after the `arguments`."""

    def review(answer: Answer, earlier: Earlier) -> str:
        if not takes(answer, name, (*arguments, "block")):
            return ""
        generator = torch.Generator().manual_seed(1)
        given = {
            argument: torch.randint(-2, 3, SIZES[argument], generator=generator).half()
            for argument in arguments
        }
        evidence = answer.run({**given, "block": block}, Observed())
        expected = given["x"] if "x" in given else (given["a"].double() @ given["b"].double()).half()
        if evidence.raised is not None:
            return f"{_beginning(block)} the launch fails: {evidence.raised.sentence}"
        if evidence.race is not None:
            return f"{_beginning(block)} it is not: {evidence.race.sentence}"
        (value,) = evidence.values
        if isinstance(value, torch.Tensor) and torch.equal(value, expected):
            return ""
        return f"{_beginning(block)} it is wrong. Does each line use that side of the tile that it is about?"

    return review


def _beginning(block: tuple[int, ...]) -> str:
    return f"The result is right with the launcher's own tile, but with block={block}"


def takes(answer: Answer, name: str, parameters: tuple[str, ...]) -> bool:
    """Whether the answer is a function of this name whose first parameters are these."""
    for node in ast.walk(ast.parse(answer.source() or "")):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return tuple(arg.arg for arg in node.args.args[: len(parameters)]) == parameters
    return False
