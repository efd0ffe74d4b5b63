"""Calls that do not fit Triton's language: names that it lacks, arguments left out or called otherwise."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

import triton.language as tl

from flashlearn.running.advice.error_context import Slip, is_tile, shape, written
from flashlearn.running.advice.translations import TYPES, instead_of

RENAMED = {
    "dim": "axis", "dims": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims", "default": "other",
    "fill": "other", "fill_value": "value", "masks": "mask", "where": "mask", "val": "value", "type": "dtype",
}  # fmt: skip
IMPORTS = {
    "tl": "import triton.language as tl", "np": "import numpy as np",
    **{name: f"import {name}" for name in ("triton", "torch", "math", "numpy")},
}  # fmt: skip
UNTOLD = {"_semantic", "_builder", "_generator", "self"}


def no_such_name(slip: Slip) -> str:
    """tl.mean, tl.pow, tl.expo: what the language does not have."""
    error = slip.error
    if (
        not isinstance(error, AttributeError)
        or error.obj is not tl
        or not isinstance(slip.node, ast.Attribute)
    ):
        return ""
    name, call = slip.node.attr, _call_of(slip)
    said = f"Triton's language has no {slip.text}."
    if call is None and name in TYPES:
        return f"{said} Its dtypes have their size in the name: `{TYPES[name]}`."
    mend = instead_of(name, call, slip, own=False)
    if mend:
        return f"{said} {mend}"
    close = difflib.get_close_matches(name, _public(), n=1, cutoff=0.6)
    return (
        f"{said} Did you mean `tl.{close[0]}`?"
        if close
        else f"{said} Is it a function of torch's, or misspelt?"
    )


def no_such_variable(slip: Slip) -> str:
    """A name that nothing has: misspelt, not imported, or without its tl. in front."""
    error = slip.error
    if not isinstance(error, NameError) or not error.name:
        return ""
    if isinstance(error, UnboundLocalError):
        return (
            f"{error.name} has no value yet in this line: it gets one further down, or in a branch that "
            "did not run."
        )
    if error.name in IMPORTS:
        return (
            f"Nothing is called {error.name} here. Write {IMPORTS[error.name]} in a cell above, and run it."
        )
    known = [*slip.names, *slip.parameters]
    close = [name for name in known if name.lower() == error.name.lower()]
    close = close or difflib.get_close_matches(error.name, known, n=1, cutoff=0.7)
    if close:
        return f"Nothing is called {error.name} here. Did you mean `{close[0]}`?"
    if callable(getattr(tl, error.name, None)):
        return f"Nothing is called {error.name} here. Triton's own is written `tl.{error.name}`."
    return f"Nothing is called {error.name} here: is it misspelt, or does its cell still have to run?"


def _public() -> list[str]:
    return [name for name in dir(tl) if not name.startswith("_") and not inspect.ismodule(getattr(tl, name))]


def _call_of(slip: Slip) -> ast.Call | None:
    """The call whose function is the slip's expression."""
    calls = (node for node in ast.walk(slip.statement) if isinstance(node, ast.Call))
    return next((call for call in calls if call.func is slip.node), None)


def argument_missing(slip: Slip) -> str:
    """tl.zeros without its dtype, tl.maximum of one value, tl.store without a value."""
    if (
        not slip.called.startswith("tl.")
        or "missing" not in slip.said
        or not isinstance(slip.error, TypeError)
    ):
        return ""
    given = [written(argument) for argument in slip.node.args]
    first = given[0] if given else "x"
    if slip.called in ("tl.zeros", "tl.full"):
        missing = re.findall(r"'(\w+)'", slip.said)
        if missing == ["dtype"]:
            return f"{slip.called} wants a dtype: `{slip.called}({', '.join(given)}, dtype=tl.float32)`."
    if slip.called in ("tl.maximum", "tl.minimum") and len(given) == 1:
        word, instead = ("largest", "tl.max") if slip.called == "tl.maximum" else ("smallest", "tl.min")
        return (
            f"{slip.called} compares two values. The {word} lane of one tile is `{instead}({first}, axis=0)`."
        )
    if slip.called == "tl.store":
        return "tl.store wants the addresses and what is written there: `tl.store(pointers, value, mask=…)`."
    if slip.called == "tl.where":
        return (
            "tl.where wants a condition and two values, for where it holds and where not: "
            "`tl.where(condition, x, y)`."
        )
    return _missing(slip)


def _missing(slip: Slip) -> str:
    names = re.findall(r"'(\w+)'", slip.said)
    own = _parameters(slip)
    if not names or not own:
        return ""
    return f"{slip.called} also wants {' and '.join(names)}: `{slip.called}({', '.join(own)})`."


def argument_unknown(slip: Slip) -> str:
    """tl.sum(x, dim=0), tl.load(…, default=0)."""
    found = re.search(r"unexpected keyword argument '(\w+)'", slip.said)
    if not found or not slip.called.startswith("tl."):
        return ""
    name, own = found[1], _parameters(slip)
    if name not in [keyword.arg for keyword in slip.node.keywords] or not own:
        return ""
    if slip.called == "tl.store" and name == "other":
        return "tl.store has no other=: lanes that the mask hides are not written at all. Leave it out."
    renamed = RENAMED.get(name, "")
    close = [renamed] if renamed in own else difflib.get_close_matches(name, own, n=1, cutoff=0.5)
    mend = f"it is called {close[0]}= there" if close else f"its arguments are {', '.join(own)}"
    return f"{slip.called} has no argument {name}=: {mend}."


def _parameters(slip: Slip) -> list[str]:
    """What the function that is called can be given."""
    function = getattr(tl, slip.called.removeprefix("tl."), None)
    function = getattr(function, "fn", function)
    try:
        return [name for name in inspect.signature(function).parameters if name not in UNTOLD]
    except (TypeError, ValueError):
        return []


def text_where_none_belongs(slip: Slip) -> str:
    """tl.device_print(x) without text, other="-inf"."""
    if slip.called == "tl.device_print" and isinstance(slip.error, AssertionError) and is_tile(_first(slip)):
        name = written(slip.node.args[0])
        return f'tl.device_print wants a text before the values: `tl.device_print("{name} ", {name})`.'
    if "of type <class 'str'> to tensor" not in slip.said or not isinstance(slip.node, ast.Call):
        return ""
    for keyword in slip.node.keywords:
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            value = keyword.value.value
            mend = f'float("{value}")' if "inf" in value or "nan" in value else value
            return f"{keyword.arg}={value!r} is text, and a number is wanted: `{keyword.arg}={mend}`."
    return ""


def _first(slip: Slip) -> Any:
    return slip.operands[0] if slip.operands else None


def accumulator_is_a_number(slip: Slip) -> str:
    """tl.dot(a, b, acc=0)."""
    acc = slip.keywords.get("acc")
    if slip.called != "tl.dot" or not isinstance(acc, int | float):
        return ""
    one, other = (shape(value) for value in (*slip.operands, None, None)[:2])
    size = f"{[one[0], other[1]]}" if len(one) == len(other) == 2 else "[M, N]"
    return (
        f"acc= is a tile that the product is added to, of shape {size} here, and {acc} is a number. Make "
        "it before the loop, `acc = tl.zeros([M, N], dtype=tl.float32)`, or leave acc= out."
    )


def number_of_a_loop(slip: Slip) -> str:
    """range over a fraction."""
    if not isinstance(slip.node, ast.For) or "a loop's start, end and step are integers" not in slip.said:
        return ""
    divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(slip.node.iter))
    mend = (
        "Divide with //, or round up with tl.cdiv(n, BLOCK)." if divided else "Convert it with .to(tl.int32)."
    )
    return f"A loop counts in whole numbers, and one in `{written(slip.node.iter)}` is a fraction. {mend}"


def nothing_came_back(slip: Slip) -> str:
    """A helper without return, or the result of a store."""
    if "NoneType" not in slip.said and "None of type" not in slip.said:
        return ""
    for name in slip.names_in(slip.node):
        if name.id in slip.names and slip.names[name.id] is None and name.id not in slip.given:
            source = _assigned(slip, name.id)
            if source:
                return f"{name.id} is None: `{source}` gave nothing back. Does the function lack its return?"
    return ""


def _assigned(slip: Slip, name: str) -> str:
    """The call whose result a name last got, above the line."""
    found = [
        node
        for node in ast.walk(slip.function)
        if isinstance(node, ast.Assign)
        and node.lineno < slip.statement.lineno
        and isinstance(node.value, ast.Call)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return written(max(found, key=lambda node: node.lineno).value) if found else ""


RULES: tuple[Callable[[Slip], str], ...] = (
    no_such_name,
    no_such_variable,
    accumulator_is_a_number,
    argument_missing,
    argument_unknown,
    text_where_none_belongs,
    number_of_a_loop,
    nothing_came_back,
)
