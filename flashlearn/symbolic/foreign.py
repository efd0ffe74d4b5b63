"""Answers that are no sympy objects, or sympy objects of the wrong kind: a sentence for each.

Nothing here is converted, and no string is ever evaluated.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.function import FunctionClass
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom, BooleanFunction
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.symbolic import words

SEQUENCES = (tuple, list, sp.Tuple)
READABLE = (int, float, complex, Fraction, sp.Basic, MatrixBase, NDimArray, sp.Poly, Mapping, *SEQUENCES)


TRUTHS = (bool, BooleanAtom, BooleanFunction, Relational)  # sympy's Boolean would include every Symbol


class Unreadable(Exception):
    """The answer cannot be compared; the text says what was found, what was expected, what to do.

    `rule` names the reason; `core` is what may be the right answer in the wrong wrapping.
    """

    def __init__(self, sentence: str, rule: str, core: Any = None):
        super().__init__(sentence)
        self.sentence, self.rule, self.core = sentence, rule, core


def came_back(
    got: Any, wanted: str, rest: str = "", rule: str = "wrong type", core: Any = None
) -> Unreadable:
    """«A string came back; a 3×3 matrix is asked for…»: `rest` begins with its own punctuation."""
    found = got if isinstance(got, str) else words.kind(got)
    return Unreadable(f"{words.capital(found)} came back; {wanted} asked for{rest or '.'}", rule, core)


def reject_foreign(got: Any, expected: Any) -> None:
    """Raise Unreadable for everything that cannot be read as a sympy object."""
    wanted = f"{words.kind(expected)} is"
    module = (type(got).__module__ or "").partition(".")[0]  # undefined functions have none
    if got is None:
        raise came_back("nothing (None)", wanted, ". Does every way through the function end with return?")
    if isinstance(got, str):
        raise came_back(
            f'a string, "{words.short(got)}",',
            wanted,
            ". Strings are never evaluated: build the expression from the function's arguments.",
        )
    if module == "torch":
        raise came_back(
            f"a torch {type(got).__name__}"
            + (f" of shape {tuple(got.shape)}" if hasattr(got, "shape") else ""),
            wanted,
            ". torch has numbers only: compute with the sympy arguments, with sp.exp, sp.log and sp.Matrix.",
        )
    if module == "numpy":
        raise came_back(
            f"a NumPy array of shape {tuple(got.shape)}" if getattr(got, "shape", ()) else "a NumPy number",
            wanted,
            ". NumPy rounds and knows no symbols: use sp.Matrix, sp.exp and sp.Rational instead.",
        )
    if isinstance(got, TRUTHS) and not isinstance(expected, TRUTHS):
        _reject_truth(got, wanted)
    if isinstance(got, type) or (callable(got) and not isinstance(got, (sp.Basic, MatrixBase))):
        _reject_callable(got, wanted, isinstance(expected, sp.Lambda))
    if not isinstance(got, READABLE):
        unordered = isinstance(got, (Iterator, set, frozenset))
        raise came_back(got, wanted, ": make it a tuple or a list, in order." if unordered else ".")


def _reject_truth(got: Any, wanted: str) -> None:
    if isinstance(got, sp.Equality):
        text = words.short(f"{words.tidy(str(got.lhs))} = {words.tidy(str(got.rhs))}")
        raise came_back(f"an equation, {text},", wanted, ": return its right-hand side alone.", core=got.rhs)
    if isinstance(got, (bool, BooleanAtom)):
        advice = ". Return the expression itself, not whether it equals something (== compares, sympy's too)."
        raise came_back(f"the truth value {bool(got)}", wanted, advice)
    raise came_back(f"a condition, {words.short(words.tidy(str(got)))},", wanted)


def _reject_callable(got: Any, wanted: str, lambda_wanted: bool) -> None:
    name = getattr(got, "__name__", type(got).__name__)
    if isinstance(got, type) and not isinstance(got, FunctionClass):
        raise came_back(f"the class {name}", wanted, ": call it.")
    if lambda_wanted:
        raise came_back(f"the Python function {name}", wanted, ": wrap its body as sp.Lambda((x, …), body).")
    plain = inspect.isroutine(got) or isinstance(got, FunctionClass)
    advice = f": call {name} with its arguments." if plain else ": return what it computes."
    raise came_back(f"the function {name} itself", wanted, advice)
