"""Sympy expressions as trees of names and numbers, and back.

No text is ever evaluated: sympy makes expressions of strings by evaluating them, so a part that arrives as
one is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef, UndefinedFunction
from sympy.core.relational import Relational
from sympy.core.symbol import Str
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

Node = Callable[[Any], Any]


def taken_apart(value: Any, node: Node) -> list:
    """A list whose head says what it is; parts that are no expressions go through `node`."""
    if isinstance(value, sp.Integer):
        return ["integer", str(int(value))]
    if isinstance(value, sp.Rational):
        return ["rational", str(value.p), str(value.q)]
    if isinstance(value, sp.Float):
        return ["float", [str(part) for part in value._mpf_], value._prec]
    if isinstance(value, sp.Dummy):
        return ["dummy", value.name, value.dummy_index, _assumptions(value)]
    if isinstance(value, sp.Symbol):
        return ["symbol", value.name, _assumptions(value)]
    if isinstance(value, Str):
        return ["name", value.name]
    if isinstance(value, AppliedUndef):
        return ["applied", type(value).__name__, [node(part) for part in value.args]]
    if isinstance(value, UndefinedFunction):
        return ["function", value.__name__]
    if isinstance(value, MatrixBase):
        return ["matrix", _home(type(value)), list(value.shape), [node(part) for part in value.flat()]]
    if isinstance(value, NDimArray):
        entries = [node(part) for part in value._array] if hasattr(value, "_array") else [*map(node, value)]
        return ["array", _home(type(value)), list(map(int, value.shape)), entries]
    return ["expression", _home(type(value)), [node(part) for part in value.args]]


def put_together(part: list, value: Node) -> Any:
    """The expression of such a list. Raises ValueError for what is none."""
    head, *rest = part
    if head not in _MAKERS:
        raise ValueError(f"an unknown expression {head!r}")
    return _MAKERS[head](value, *rest)


def _assumptions(symbol: sp.Symbol) -> dict[str, bool]:
    return {name: bool(known) for name, known in symbol._assumptions_orig.items() if known is not None}


def _home(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(home: str, of: tuple[type, ...]) -> type:
    """A class of sympy's that is loaded already, and one of these."""
    module, _, name = home.partition(":")
    if module.split(".")[0] != "sympy" or module not in sys.modules or not name.isidentifier():
        raise ValueError(f"{home} is no class of sympy's")
    kind = getattr(sys.modules[module], name, None)
    if not (isinstance(kind, type) and issubclass(kind, of)):
        raise ValueError(f"{home} is no expression")
    return kind


def _parts(value: Node, parts: list) -> list[Any]:
    """The parts, each an expression already: of a text sympy would make one by evaluating it."""
    made = [value(part) for part in parts]
    if not all(isinstance(one, (sp.Basic, MatrixBase, NDimArray)) for one in made):
        raise ValueError("a part that is no expression")
    return made


def _expression(value: Node, home: str, parts: list) -> Any:
    """Built as it was, not computed again: an expression that was left unevaluated stays so."""
    kind, arguments = _class(home, (sp.Basic,)), _parts(value, parts)
    if issubclass(kind, sp.Add | sp.Mul):
        return kind._from_args(arguments)
    if issubclass(kind, sp.Pow | sp.Function | Relational) and arguments:
        return kind(*arguments, evaluate=False)
    return kind(*arguments)


def _matrix(value: Node, home: str, shape: list[int], parts: list) -> Any:
    rows, columns = map(int, shape)
    return _class(home, (MatrixBase,))(rows, columns, _parts(value, parts))


def _array(value: Node, home: str, shape: list[int], parts: list) -> Any:
    return _class(home, (NDimArray,))(_parts(value, parts), tuple(map(int, shape)))


_MAKERS: dict[str, Callable[..., Any]] = {
    "integer": lambda value, n: sp.Integer(int(n)),
    "rational": lambda value, p, q: sp.Rational(int(p), int(q)),
    "float": lambda value, mpf, prec: sp.Float._new(tuple(map(int, mpf)), prec),
    "symbol": lambda value, name, known: sp.Symbol(str(name), **known),
    "dummy": lambda value, name, index, known: sp.Dummy(name, dummy_index=index, **known),
    "name": lambda value, name: Str(str(name)),
    "applied": lambda value, name, parts: sp.Function(str(name))(*_parts(value, parts)),
    "function": lambda value, name: sp.Function(str(name)),
    "matrix": _matrix,
    "array": _array,
    "expression": _expression,
}
