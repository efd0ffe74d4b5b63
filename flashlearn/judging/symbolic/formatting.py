"""Sympy values, shapes and kinds in a reader's words: `−1/18`, `log 2`, "a 1×3 matrix"."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom, BooleanFunction
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.running.evidence import Foreign

MAX_LENGTH = 44


def show(value: Any) -> str:
    """A number or a small expression as one would write it by hand; long ones become decimals.

    >>> show(sp.Rational(-1, 18)), show(sp.log(2)), show(sp.oo)
    ('−1/18', 'log 2', '∞')
    """
    if isinstance(value, MatrixBase):
        return show_matrix(value)
    if isinstance(value, (tuple, list, sp.Tuple)):
        return "(" + ", ".join(show(v) for v in value) + ")"
    text = tidy(sp.sstr(value))
    if len(text) <= MAX_LENGTH or not isinstance(value, sp.Expr) or value.free_symbols:
        return text if len(text) <= 2 * MAX_LENGTH else text[: 2 * MAX_LENGTH] + " …"
    return "≈ " + sp.sstr(sp.N(value, 6)).replace("-", "−")


def tidy(text: str) -> str:
    """Sympy's text with the signs of print: minus, dot, power, infinity."""
    text = re.sub(r"\blog\((\d+)\)", r"log \1", text)
    text = text.replace("**", "^").replace("*", "·").replace("-", "−").replace("zoo", "1/0")
    return re.sub(r"\boo\b", "∞", text)


def show_matrix(matrix: MatrixBase) -> str:
    """A column as (a, b, c), any other matrix as [[a, b], [c, d]]."""
    if matrix.cols == 1:
        return "(" + ", ".join(show(v) for v in matrix) + ")"
    rows = ("[" + ", ".join(show(v) for v in matrix.row(i)) + "]" for i in range(matrix.rows))
    return "[" + ", ".join(rows) + "]"


def table(matrix: MatrixBase) -> str:
    """A matrix as lines of aligned columns."""
    cells = [[show(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(matrix.cols)]
    return "\n".join(
        "    " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in cells
    )


def shape(dimensions: tuple) -> str:
    """`3×1`, `N×D`."""
    return "×".join(tidy(str(d)) for d in dimensions)


def matrix(dimensions: tuple) -> str:
    """`a 3×1 matrix`, `an 8×6 matrix`."""
    size = shape(dimensions)
    head = str(dimensions[0])
    vowel = head[0] == "8" or head in ("11", "18") or (len(head) == 1 and head in "AEFHILMNORSXaefhilmnorsx")
    return f"{'an' if vowel else 'a'} {size} matrix"


def count(number: int, noun: str) -> str:
    """`1 item`, `3 entries`."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def after_name(name: str, sentence: str) -> str:
    """A sentence about what has this name, after a colon; a symbol at its beginning stays as it is.

    >>> after_name("dk", "Every entry is wrong."), after_name("dk", "Sum(x) is left.")
    ('dk: every entry is wrong.', 'dk: Sum(x) is left.')
    """
    word = sentence.split(" ", 1)[0]
    begins = len(word) > 1 and word.isalpha() and word[1:].islower()
    return f"{name}: {sentence[:1].lower()}{sentence[1:]}" if begins else f"{name}: {sentence}"


def short(text: str, length: int = 60) -> str:
    """The text, cut where it would fill a screen."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 2] + " …"


def entry(label: tuple, labels: Collection[tuple] = ()) -> str:
    """What a cell of an answer is called: entry (0, 1), entry 2 of a column, item 2, the value under s1.

    `labels` are those of all cells: they distinguish a column from a matrix.
    """
    if not label:
        return ""
    if is_matrix([label]):
        column = len(labels) > 1 and all(len(other) == 2 and other[1] == 0 for other in labels)
        return f"entry {label[0]}" if column else f"entry ({label[0]}, {label[1]})"
    head = f"item {label[0]}" if isinstance(label[0], int) else f"the value under {label[0]}"
    rest = entry(label[1:])
    return f"{rest} of {head}" if rest else head


def is_matrix(labels: Collection[tuple]) -> bool:
    """Whether the labels are rows and columns."""
    return all(len(label) == 2 and all(isinstance(i, int) for i in label) for label in labels)


def listed(words: list[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {joint} {words[-1]}"


def with_article(noun: str) -> str:
    """`a tensor`, `an object`."""
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"


def kind(value: Any) -> str:
    """What came back, in two or three words with their article."""
    if value is None:
        return "None"
    if isinstance(value, Foreign):
        return with_article(value.type)
    if isinstance(value, (MatrixBase, MatrixExpr)):
        return matrix(value.shape)
    if isinstance(value, NDimArray):
        return f"an array of shape {shape(value.shape)}"
    if isinstance(value, (tuple, list, sp.Tuple)):
        noun = "list" if isinstance(value, list) else "tuple"
        return f"a {noun} of {count(len(value), 'item')}"
    if isinstance(value, (Mapping, sp.Dict)):
        return f"a dictionary with {count(len(value), 'key')}"
    if isinstance(value, sp.Lambda):
        return "a Lambda"
    if isinstance(value, (sp.Equality, sp.Unequality)):
        return "an equation"
    if isinstance(value, (bool, BooleanAtom, BooleanFunction, Relational)):
        return "a truth value"
    if isinstance(value, (int, float, complex, sp.Number)):
        return f"the number {value}"
    if isinstance(value, AppliedUndef):
        return f"the undefined function {value}"
    if isinstance(value, sp.Expr):
        return "one expression"
    return with_article(type(value).__name__)
