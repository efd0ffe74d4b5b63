"""Which symbols an answer may contain, and what to do about the others.

A learner who writes `sp.Symbol("x")` where the argument is a positive `x` has another symbol of the same
name. The intention is clear, so it is read as the argument, with a warning.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.indexed import Idx, Indexed, IndexedBase

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.forms import Form
from flashlearn.judging.symbolic.unreadable import SEQUENCES, Unreadable


def flatten(value: Any) -> list[Any]:
    """All sympy objects inside tuples, lists, dictionaries and explicit matrices."""
    if isinstance(value, (Mapping, sp.Dict)):
        return [leaf for item in value.values() for leaf in flatten(item)]
    if isinstance(value, (*SEQUENCES, MatrixBase)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value] if isinstance(value, sp.Basic) else []


def arrays(expressions: Iterable[sp.Basic]) -> dict[str, sp.Basic]:
    """IndexedBases, MatrixSymbols and undefined functions, by name."""
    found: dict[str, sp.Basic] = {}
    for e in expressions:
        for atom in e.atoms(IndexedBase, sp.MatrixSymbol, AppliedUndef):
            name = atom.func.__name__ if isinstance(atom, AppliedUndef) else str(atom.args[0])
            found.setdefault(name, atom)
    return found


def symbols(expressions: Iterable[sp.Basic]) -> set[sp.Basic]:
    """Free symbols and indices, without the names of arrays; sizes in shapes are included."""
    found: set[sp.Basic] = set()
    for e in expressions:
        labels = {base.label for base in e.atoms(IndexedBase)}
        free = {s for s in e.free_symbols if isinstance(s, (sp.Symbol, Idx)) and not isinstance(s, Indexed)}
        for sized in e.atoms(MatrixExpr):
            for size in sized.shape:
                free |= getattr(size, "free_symbols", set())
        found |= free - labels
    return found


def adopt(form: Form, allowed: list[sp.Basic]) -> tuple[Form, list[str], list[str]]:
    """The answer with same-named symbols replaced by the given ones, warnings, and unknown names."""
    given = symbols(allowed)
    by_name: dict[str, sp.Basic] = {}
    for symbol in sorted(given, key=str):
        by_name.setdefault(_name(symbol), symbol)
    foreign = {s for s in symbols(form.expressions()) if s not in given}
    renamed = {s: by_name[_name(s)] for s in foreign if _name(s) in by_name}
    warnings = [_difference(mine, theirs) for mine, theirs in sorted(renamed.items(), key=str)]
    if renamed:
        form = form.map(lambda e: e.xreplace(renamed))
    known = arrays(allowed)
    mine = arrays(form.expressions())
    for name, array in mine.items():
        _same_array(name, array, known.get(name))
    unknown = sorted({_name(s) for s in foreign if s not in renamed} | (mine.keys() - known.keys()))
    return form, warnings, unknown


def _name(symbol: sp.Basic) -> str:
    return getattr(symbol, "name", str(symbol))  # a Dummy x prints as _x


def _difference(mine: sp.Basic, theirs: sp.Basic) -> str:
    """A warning that says how two symbols of the same name differ."""
    if isinstance(mine, sp.Dummy) or isinstance(theirs, sp.Dummy):
        why = "a Dummy equals only itself"
    else:
        why = f"the given one is {_assumed(theirs)}, yours is {_assumed(mine)}"
    return (
        f"Your answer creates a symbol {_name(mine)}, which is not the argument {theirs} to sympy: {why}. "
        "It was read as the argument; use the arguments themselves."
    )


def _assumed(symbol: sp.Basic) -> str:
    """The assumptions that the symbol was made with."""
    if isinstance(symbol, Idx):
        return "an index"
    made_with = getattr(symbol, "_assumptions_orig", {})
    assumed = [name if value else f"not {name}" for name, value in sorted(made_with.items())]
    return formatting.listed(assumed) if assumed else "without assumptions"


def _same_array(name: str, mine: sp.Basic, given: sp.Basic | None) -> None:
    if isinstance(mine, sp.MatrixSymbol) and isinstance(given, sp.MatrixSymbol):
        theirs = [str(d) for d in given.shape]
        if [str(d) for d in mine.shape] != theirs:
            raise Unreadable(
                f"your answer has a matrix {name} of its own, {formatting.shape(mine.shape)}; the argument "
                f"{name} is {formatting.shape(given.shape)}. Use the argument itself.",
                "unknown symbol",
            )


def unknown_sentence(unknown: list[str], allowed: list[sp.Basic]) -> str:
    """A sentence that names the unknown symbols and suggests the likely ones."""
    known = sorted({str(s) for s in symbols(allowed)} | arrays(allowed).keys())
    close = difflib.get_close_matches(unknown[0], known, 1)
    meant = f" Did you mean {close[0]}?" if close and len(unknown) == 1 else ""
    have = (
        f"the arguments contain {formatting.listed(known)}"
        if len(known) <= 12
        else "the arguments do not contain it"
    )
    unknown_names = formatting.listed(unknown)
    return f"Your answer contains {unknown_names}, which your function was not given; {have}.{meant}"
