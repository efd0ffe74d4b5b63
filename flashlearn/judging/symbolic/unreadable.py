"""Answers that are not sympy objects, or of the wrong kind: a sentence for each.

Nothing here is converted, and no string is ever evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom, BooleanFunction
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.judging.symbolic import formatting
from flashlearn.running.evidence import Foreign
from flashlearn.running.values import foreign

SEQUENCES = (tuple, list, sp.Tuple)
READABLE = (int, float, complex, Fraction, sp.Basic, MatrixBase, NDimArray, sp.Poly, Mapping, *SEQUENCES)


TRUTH_VALUES = (bool, BooleanAtom, BooleanFunction, Relational)  # sympy's Boolean would include every Symbol


class Unreadable(Exception):
    """The answer cannot be compared; the text says what was found, what was expected, and what to do.

    `rule` names the reason; `core` is a part of the answer that may be right in the wrong container; `where`
    names the parts of the answer that the text is about, the outermost first.
    """

    def __init__(self, text: str, rule: str, core: Any = None, where: tuple[str, ...] = ()):
        super().__init__(text)
        self.text, self.rule, self.core, self.where = text, rule, core, where

    @property
    def sentence(self) -> str:
        """The text with the part of the answer that it is about: "For item 1, you returned a string; …"."""
        return formatting.capital("".join(f"for {part}, " for part in self.where) + self.text)

    def inside(self, part: str) -> Unreadable:
        """The error for a part of a larger answer, without `core`: a right part is not a right answer."""
        return Unreadable(self.text, self.rule, where=(part, *self.where))


def unexpected(
    got: Any, wanted: str, rest: str = "", rule: str = "wrong type", core: Any = None
) -> Unreadable:
    """ "You returned a string; a 3×3 matrix is expected…": `rest` begins with its own punctuation."""
    found = got if isinstance(got, str) else formatting.kind(got)
    return Unreadable(f"you returned {found}; {wanted} expected{rest or '.'}", rule, core)


def reject_non_sympy(got: Any, expected: Any) -> None:
    """Raise Unreadable for everything that cannot be read as a sympy object."""
    wanted = f"{formatting.kind(expected)} is"
    seen = got if isinstance(got, Foreign) else foreign(got)
    module = seen.module.partition(".")[0]
    if got is None:
        raise unexpected(
            "nothing (None)", wanted, ". Does every path through the function end with a return statement?"
        )
    if isinstance(got, str):
        raise unexpected(
            f'a string, "{formatting.short(got)}"',
            wanted,
            ". Strings are never evaluated: build the expression from the function's arguments.",
        )
    if module == "torch":
        raise unexpected(
            f"a torch {seen.type}" + (f" of shape {seen.shape}" if seen.shape is not None else ""),
            wanted,
            ". torch has numbers only: compute with the sympy arguments, with sp.exp, sp.log and sp.Matrix.",
        )
    if module == "numpy":
        raise unexpected(
            f"a NumPy array of shape {seen.shape}" if seen.shape else "a NumPy number",
            wanted,
            ". NumPy rounds and has no symbols: use sp.Matrix, sp.exp and sp.Rational instead.",
        )
    if isinstance(got, TRUTH_VALUES) and not isinstance(expected, TRUTH_VALUES):
        _reject_truth(got, wanted)
    if seen.calls and not isinstance(got, (sp.Basic, MatrixBase)):
        _reject_callable(seen, wanted, isinstance(expected, sp.Lambda))
    if not isinstance(got, READABLE):
        unordered = seen.iterates
        raise unexpected(got, wanted, ": make it a tuple or a list, in order." if unordered else ".")


def _reject_truth(got: Any, wanted: str) -> None:
    if isinstance(got, sp.Equality):
        text = formatting.short(f"{formatting.tidy(str(got.lhs))} = {formatting.tidy(str(got.rhs))}")
        raise unexpected(f"an equation, {text}", wanted, ": return its right-hand side alone.", core=got.rhs)
    if isinstance(got, (bool, BooleanAtom)):
        advice = (
            ". Return the expression itself, not whether it equals something (== compares, in sympy too)."
        )
        raise unexpected(f"the truth value {bool(got)}", wanted, advice)
    raise unexpected(f"a condition, {formatting.short(formatting.tidy(str(got)))}", wanted)


def _reject_callable(seen: Foreign, wanted: str, lambda_wanted: bool) -> None:
    name = seen.name or seen.type
    if seen.calls == "class":
        raise unexpected(f"the class {name}", wanted, ": call it.")
    if lambda_wanted:
        raise unexpected(f"the Python function {name}", wanted, ": wrap its body as sp.Lambda((x, …), body).")
    advice = f": call {name} with its arguments." if seen.calls == "routine" else ": return what it computes."
    raise unexpected(f"the function {name} itself", wanted, advice)
