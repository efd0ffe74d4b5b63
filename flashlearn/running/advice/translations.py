"""Functions of torch, NumPy and Python, and their replacements in Triton's language."""

from __future__ import annotations

import ast
import inspect

import triton.language as tl

from flashlearn.running.advice.error_context import ErrorContext, is_tensor, is_tile, shape, written

# What to write for a function of another library, or for a method that tiles do not have. {0} is the first
# argument as it is written, {1} the same in parentheses where it needs them, {axis} the axis asked for.
REPLACED = {
    "sum": "tl.sum({0}, axis={axis})", "cumsum": "tl.cumsum({0}, axis={axis})",
    "max": "tl.max({0}, axis={axis})", "amax": "tl.max({0}, axis={axis})", 
    "argmax": "tl.argmax({0}, axis={axis})",
    "min": "tl.min({0}, axis={axis})", "amin": "tl.min({0}, axis={axis})", 
    "argmin": "tl.argmin({0}, axis={axis})",
    "abs": "tl.abs({0})", "fabs": "tl.abs({0})", "absolute": "tl.abs({0})", "exponential": "tl.exp({0})",
    "inf": 'float("inf")', "nan": 'float("nan")', "relu": "tl.maximum({0}, 0.0)",
    "tanh": "2 * tl.sigmoid(2 * {1}) - 1", "clip": "tl.clamp({0}, low, high)",
    "transpose": "tl.trans({0})", "t": "tl.trans({0})", "T": "tl.trans({0})", "mT": "tl.trans({0})",
    "float": "{1}.to(tl.float32)", "half": "{1}.to(tl.float16)", "double": "{1}.to(tl.float64)",
    "bfloat16": "{1}.to(tl.bfloat16)", "int": "{1}.to(tl.int32)", "long": "{1}.to(tl.int64)",
    "astype": "{1}.to(tl.float32)", "bool": "{1} != 0", "unsqueeze": "{1}[:, None]",
}  # fmt: skip
IN_WORDS = {
    "mean": "Divide the sum by the number n of elements that count: `tl.sum({0}, axis={axis}) / n`.",
    "pow": "A square is `x * x`; other powers of a positive x are `tl.exp(y * tl.log(x))`.",
    "concat": "Store the parts one after the other, each with its own offsets.",
}
IN_WORDS |= {"power": IN_WORDS["pow"], "square": "Write `x * x`.", "cat": IN_WORDS["concat"]}
SHAPED = {
    "zeros": "tl.zeros({0}, dtype=tl.float32)", "empty": "tl.zeros({0}, dtype=tl.float32)",
    "ones": "tl.full({0}, 1.0, dtype=tl.float32)", "full": "tl.full({0}, value, dtype=tl.float32)",
}  # fmt: skip
PRODUCTS = ("matmul", "mm", "bmm", "dot")
LONGEST_REPEATED = 40
LARGER = {"max": "tl.maximum", "min": "tl.minimum"}
TYPES = {
    "float": "tl.float32", "half": "tl.float16", "double": "tl.float64", "int": "tl.int32",
    "long": "tl.int64", "bool": "tl.int1", "single": "tl.float32",
}  # fmt: skip


def instead_of(
    name: str, call: ast.Call | None, context: ErrorContext, owner: ast.expr | None = None, own: bool = True
) -> str:
    """A sentence with the same in Triton's language; nothing if it is not known.

    `call` is the call as it was written, `owner` the object whose method it was. `own` says whether Triton's
    function of the same name may be meant.
    """
    arguments = [*([owner] if owner is not None else []), *(call.args if call is not None else [])]
    if name in PRODUCTS and len(arguments) > 1:
        return f"Write `tl.dot({written(arguments[0])}, {written(arguments[1])})`."
    if name in LARGER and len(arguments) > 1 and is_tensor(context.value(arguments[1])):
        return f"Write `{LARGER[name]}({written(arguments[0])}, {written(arguments[1])})`."
    words = {"axis": _axis(call, arguments, context)}
    first = written(arguments[0]) if arguments else "x"
    if len(first) > LONGEST_REPEATED:
        first, arguments = "x", [ast.Name("x"), *arguments[1:]]
    atom = (
        first
        if not arguments or isinstance(arguments[0], ast.Name | ast.Call | ast.Attribute)
        else f"({first})"
    )
    if name in SHAPED and arguments:
        return f"Write `{SHAPED[name].format(first)}`."
    if name in IN_WORDS:
        return IN_WORDS[name].format(first, atom, **words)
    if name in REPLACED:
        return f"Write `{REPLACED[name].format(first, atom, **words)}`."
    if own and _is_function(name):
        return f"Write `tl.{name}({', '.join(map(written, arguments))})`."
    return ""


def _axis(call: ast.Call | None, arguments: list[ast.expr], context: ErrorContext) -> str:
    """The axis that was asked for, else the only one that the tile has."""
    named = [k.value for k in call.keywords if k.arg in ("dim", "axis")] if call is not None else []
    named += arguments[1:2]
    if named and isinstance(named[0], ast.Constant | ast.UnaryOp):
        return written(named[0])
    known = [context.value(arguments[0])] if arguments else []
    known += context.operands[:1]
    flat = any(is_tile(value) and len(shape(value)) == 1 for value in known)
    return "0" if flat or not any(map(is_tile, known)) else "…"


def _is_function(name: str) -> bool:
    """True for what Triton's language computes with: its builtins and its functions."""
    member = getattr(tl, name, None)
    return not name.startswith("_") and (inspect.isroutine(member) or hasattr(member, "fn"))
