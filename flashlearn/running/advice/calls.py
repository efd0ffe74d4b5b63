"""Calls that do not fit Triton's language: unknown names, missing arguments, arguments with other names."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

import triton.language as tl

from flashlearn.running.advice.error_context import ErrorContext, is_address, is_tile, shape, written
from flashlearn.running.advice.translations import TYPES, instead_of

RENAMED = {
    "dim": "axis", "dims": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims", "default": "other",
    "fill": "other", "fill_value": "value", "masks": "mask", "where": "mask", "val": "value", "type": "dtype",
}  # fmt: skip
IMPORTS = {
    "tl": "import triton.language as tl", "np": "import numpy as np",
    **{name: f"import {name}" for name in ("triton", "torch", "math", "numpy")},
}  # fmt: skip
HIDDEN_PARAMETERS = {"_semantic", "_builder", "_generator", "self"}


def no_such_name(context: ErrorContext) -> str:
    """tl.mean, tl.pow, tl.expo: names that the language does not have."""
    error = context.error
    if (
        not isinstance(error, AttributeError)
        or error.obj is not tl
        or not isinstance(context.node, ast.Attribute)
    ):
        return ""
    name, call = context.node.attr, _call_of(context)
    sentence = f"Triton's language has no {context.text}."
    if call is None and name in TYPES:
        return f"{sentence} Its dtypes have their size in the name: `{TYPES[name]}`."
    fix = instead_of(name, call, context, own=False)
    if fix:
        return f"{sentence} {fix}"
    close = difflib.get_close_matches(name, _public(), n=1, cutoff=0.6)
    return (
        f"{sentence} Did you mean `tl.{close[0]}`?"
        if close
        else f"{sentence} Is it a function of torch, or misspelled?"
    )


def no_such_variable(context: ErrorContext) -> str:
    """An undefined name: misspelled, not imported, or without its tl. prefix."""
    error = context.error
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
    known = [*context.names, *context.parameters]
    close = [name for name in known if name.lower() == error.name.lower()]
    if close and is_address(context.names.get(close[0])) and not _is_in_address(context, error.name):
        return (
            f"Nothing is called {error.name} here, and `{close[0]}` is an address: does a line above load "
            f"`{error.name}`?"
        )
    close = close or difflib.get_close_matches(error.name, known, n=1, cutoff=0.7)
    if close:
        return f"Nothing is called {error.name} here. Did you mean `{close[0]}`?"
    if callable(getattr(tl, error.name, None)):
        return f"Nothing is called {error.name} here. Triton's own is written `tl.{error.name}`."
    return f"Nothing is called {error.name} here: is it misspelled, or does its cell still have to run?"


def _is_in_address(context: ErrorContext, name: str) -> bool:
    """Whether a name is in the address of an access of the statement."""
    calls = (node for node in ast.walk(context.statement) if isinstance(node, ast.Call) and node.args)
    accesses = (call for call in calls if re.search(r"(load|store|atomic_\w+)$", written(call.func)))
    return any(one.id == name for call in accesses for one in context.names_in(call.args[0]))


def _public() -> list[str]:
    return [name for name in dir(tl) if not name.startswith("_") and not inspect.ismodule(getattr(tl, name))]


def _call_of(context: ErrorContext) -> ast.Call | None:
    """The call whose function is the context's expression."""
    calls = (node for node in ast.walk(context.statement) if isinstance(node, ast.Call))
    return next((call for call in calls if call.func is context.node), None)


def argument_missing(context: ErrorContext) -> str:
    """tl.zeros without its dtype, tl.maximum of one value, tl.store without a value."""
    if (
        not context.called.startswith("tl.")
        or "missing" not in context.message
        or not isinstance(context.error, TypeError)
    ):
        return ""
    given = [written(argument) for argument in context.node.args]
    first = given[0] if given else "x"
    if context.called in ("tl.zeros", "tl.full"):
        missing = re.findall(r"'(\w+)'", context.message)
        if missing == ["dtype"]:
            return (
                f"{context.called} needs a dtype: `{context.called}({', '.join(given)}, dtype=tl.float32)`."
            )
    if context.called in ("tl.maximum", "tl.minimum") and len(given) == 1:
        word, instead = ("largest", "tl.max") if context.called == "tl.maximum" else ("smallest", "tl.min")
        lane = f"The {word} lane of one tile is `{instead}({first}, axis=0)`"
        return f"{context.called} compares two values. {lane}."
    if context.called == "tl.store":
        return "tl.store needs the addresses and what is written there: `tl.store(pointers, value, mask=…)`."
    if context.called == "tl.where":
        return (
            "tl.where needs a condition and two values, for where it holds and where it does not: "
            "`tl.where(condition, x, y)`."
        )
    return _missing(context)


def _missing(context: ErrorContext) -> str:
    names = re.findall(r"'(\w+)'", context.message)
    own = _parameters(context)
    if not names or not own:
        return ""
    return f"{context.called} also needs {' and '.join(names)}: `{context.called}({', '.join(own)})`."


def argument_unknown(context: ErrorContext) -> str:
    """tl.sum(x, dim=0), tl.load(…, default=0)."""
    found = re.search(r"unexpected keyword argument '(\w+)'", context.message)
    if not found or not context.called.startswith("tl."):
        return ""
    name, own = found[1], _parameters(context)
    if name not in [keyword.arg for keyword in context.node.keywords] or not own:
        return ""
    if context.called == "tl.store" and name == "other":
        return "tl.store has no other=: lanes that the mask hides are not written at all. Remove it."
    renamed = RENAMED.get(name, "")
    close = [renamed] if renamed in own else difflib.get_close_matches(name, own, n=1, cutoff=0.5)
    fix = f"it is called {close[0]}= there" if close else f"its arguments are {', '.join(own)}"
    return f"{context.called} has no argument {name}=: {fix}."


def _parameters(context: ErrorContext) -> list[str]:
    """The parameters of the called function."""
    function = getattr(tl, context.called.removeprefix("tl."), None)
    function = getattr(function, "fn", function)
    try:
        return [name for name in inspect.signature(function).parameters if name not in HIDDEN_PARAMETERS]
    except (TypeError, ValueError):
        return []


def other_without_mask(context: ErrorContext) -> str:
    """tl.load(p, other=0.0)."""
    if "`other` cannot be provided without `mask`" not in context.message:
        return ""
    return (
        "tl.load has other= here and no mask=: other= is what the lanes hold that a mask hides. "
        "Which lanes may read?"
    )


def unexpected_text(context: ErrorContext) -> str:
    """tl.device_print(x) without text, other="-inf"."""
    if (
        context.called == "tl.device_print"
        and isinstance(context.error, AssertionError)
        and is_tile(_first(context))
    ):
        name = written(context.node.args[0])
        return f'tl.device_print needs a text before the values: `tl.device_print("{name} ", {name})`.'
    if "of type <class 'str'> to tensor" not in context.message or not isinstance(context.node, ast.Call):
        return ""
    for keyword in context.node.keywords:
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
            value = keyword.value.value
            fix = f'float("{value}")' if "inf" in value or "nan" in value else value
            return f"{keyword.arg}={value!r} is text where a number is needed: `{keyword.arg}={fix}`."
    return ""


def _first(context: ErrorContext) -> Any:
    return context.operands[0] if context.operands else None


def accumulator_is_a_number(context: ErrorContext) -> str:
    """tl.dot(a, b, acc=0)."""
    acc = context.keywords.get("acc")
    if context.called != "tl.dot" or not isinstance(acc, int | float):
        return ""
    one, other = (shape(value) for value in (*context.operands, None, None)[:2])
    size = f"{[one[0], other[1]]}" if len(one) == len(other) == 2 else "[M, N]"
    return (
        f"acc= is a tile that the product is added to, of shape {size} here, and {acc} is a number. Make "
        "it before the loop, `acc = tl.zeros([M, N], dtype=tl.float32)`, or omit acc=."
    )


def fractional_range(context: ErrorContext) -> str:
    """range over a fraction."""
    if (
        not isinstance(context.node, ast.For)
        or "a loop's start, end and step are integers" not in context.message
    ):
        return ""
    divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(context.node.iter))
    fix = (
        "Divide with //, or round up with tl.cdiv(n, BLOCK)." if divided else "Convert it with .to(tl.int32)."
    )
    passed = [n.id for n in context.names_in(context.node.iter) if isinstance(context.given.get(n.id), float)]
    if passed and not divided:
        fix = f"The launch passes {context.given[passed[0]]} for `{passed[0]}`: divide with // there."
    return f"A loop counts in whole numbers, and one in `{written(context.node.iter)}` is a fraction. {fix}"


def no_return_value(context: ErrorContext) -> str:
    """The result of a helper without return, or of a store."""
    if "NoneType" not in context.message and "None of type" not in context.message:
        return ""
    for name in context.names_in(context.node):
        if name.id in context.names and context.names[name.id] is None and name.id not in context.given:
            source = _assigned(context, name.id)
            if source:
                return f"{name.id} is None: `{source}` returned nothing. Is a return statement missing?"
    return ""


def _assigned(context: ErrorContext, name: str) -> str:
    """The call whose result was last assigned to a name, above the line."""
    found = [
        node
        for node in ast.walk(context.function)
        if isinstance(node, ast.Assign)
        and node.lineno < context.statement.lineno
        and isinstance(node.value, ast.Call)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return written(max(found, key=lambda node: node.lineno).value) if found else ""


RULES: tuple[Callable[[ErrorContext], str], ...] = (
    no_such_name,
    no_such_variable,
    accumulator_is_a_number,
    argument_missing,
    argument_unknown,
    other_without_mask,
    unexpected_text,
    fractional_range,
    no_return_value,
)
