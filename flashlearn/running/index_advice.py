"""Which index of a subscript reaches the size of its dimension: for an IndexError in a learner's own line."""

from __future__ import annotations

import re
from types import FrameType

from sympy.matrices.matrixbase import MatrixBase

from flashlearn.later import types_of

SUBSCRIPT = re.compile(r"\b([A-Za-z_]\w*)\[([^\[\]]*)\]")
"""A name and its indices; those with brackets of their own are not looked at."""

SUM = re.compile(r"[\w\s+*-]+")
"""An index that can be computed from whole numbers by name."""


DIMENSIONS = tuple(f"dimension {n}" for n in range(8))


def index_beyond(frame: FrameType | None, line: str) -> str:
    """The one index in the line that is outside, with its dimension; "" if there is none, or another.

    >>> index_beyond(frame, "dw[a, b] = sum(x[i, a] for i in range(x.cols))")
    'In x[i, a] the index `i` is 2, but x is 2×3: it has 2 rows. Which dimension must `i` run along?'
    """
    known = frame.f_locals if frame is not None else {}
    found = [each for match in SUBSCRIPT.finditer(line) for each in _outside(match, known)]
    return found[0][1] if len({index for index, _ in found}) == 1 else ""


def _outside(match: re.Match[str], known: dict[str, object]) -> list[tuple[str, str]]:
    """The indices of one subscript that are outside, each with what is said of it."""
    sizes, dimensions, size_words = _sizes(known.get(match[1]))
    indices = [part.strip() for part in match[2].split(",")]
    if len(indices) > len(sizes) or (len(indices) == 1 and len(sizes) == 2 and dimensions[0] == "row"):
        return []  # one index of a sympy matrix counts all its entries
    found = []
    for text, size, dimension in zip(indices, sizes, dimensions, strict=False):
        index = _number(text, known)
        if index is not None and not -size <= index < size:
            has = f"it has {size} {dimension}{'s' * (size != 1)}"
            if dimension in DIMENSIONS:
                has = f"{dimension} has size {size}"
            sentence = f"In {match[0]} the index `{text}` is {index}, but {match[1]} is {size_words}: {has}."
            found.append((text, f"{sentence} Which dimension must `{text}` run along?"))
    return found


def _sizes(value: object) -> tuple[tuple[int, ...], tuple[str, ...], str]:
    """The sizes of a matrix, a tensor or a list, what each counts, and all of them in words."""
    if isinstance(value, MatrixBase):
        return (value.rows, value.cols), ("row", "column"), f"{value.rows}×{value.cols}"
    if isinstance(value, types_of("torch", "Tensor")):
        return tuple(value.shape), DIMENSIONS[: value.ndim], str(list(value.shape))
    if isinstance(value, list | tuple):
        return (len(value),), ("entry",), f"a {type(value).__name__}"
    return (), (), ""


def _number(text: str, known: dict[str, object]) -> int | None:
    """The value of an index made of whole numbers."""
    numbers = {name: n for name, n in known.items() if type(n) is int}
    if not SUM.fullmatch(text) or "**" in text:
        return None
    try:
        value = eval(text, {"__builtins__": {}}, numbers)
    except Exception:  # a name that is no whole number, or half an expression
        return None
    return value if type(value) is int else None
