"""Functions of torch, NumPy and Python that a kernel cannot use, and Triton's replacements."""

from __future__ import annotations

import ast
import difflib
import inspect
import math
from types import ModuleType
from typing import Any

import triton.language as tl

from flashlearn.interpreter import elementwise
from flashlearn.running.advice.error_context import (
    UNKNOWN,
    ErrorContext,
    dtype,
    is_address,
    is_tensor,
    is_tile,
    shape,
    written,
)
from flashlearn.running.advice.translations import TYPES, instead_of

WORK_ON = {
    "torch": "on whole tensors, in the launcher",
    "numpy": "on arrays, outside of kernels",
    "math": "on one plain number",
}

PYTHON_FUNCTIONS = {
    "sum": "adds the items of a list, and a tile is not a list: `tl.sum({0}, axis=0)` adds along an axis",
    "max": "compares list items, and a tile is not a list: `tl.max({0}, axis=0)` is its largest lane, and "
    "tl.maximum(x, y) the larger of two",
    "min": "compares list items, and a tile is not a list: `tl.min({0}, axis=0)` is its smallest lane, and "
    "tl.minimum(x, y) the smaller of two",
    "abs": "does not accept tiles: write `tl.abs({0})`",
    "pow": "does not accept tiles: write x * x for a square, else `tl.exp(y * tl.log(x))`",
    "round": "does not accept tiles: write `tl.floor({0} + 0.5)`",
    "float": "makes one Python number, and {0} is a tile: write `{0}.to(tl.float32)`",
    "int": "makes one Python number, and {0} is a tile: write `{0}.to(tl.int32)`",
    "len": "does not count a tile: its size is the constant that it was made with, BLOCK or {0}.shape[0]",
    "sorted": "does not accept tiles: write `tl.sort({0})`",
    "any": "does not accept tiles: write `tl.max({0}.to(tl.int32), axis=0)`",
    "all": "does not accept tiles: write `tl.min({0}.to(tl.int32), axis=0)`",
    "list": "cannot take a tile apart: operations act on all of its lanes at once",
    "enumerate": "cannot take a tile apart: operations act on all of its lanes at once",
    "zip": "cannot take tiles apart: operations act on all of their lanes at once",
}


def library_function(context: ErrorContext) -> str:
    """torch.exp, np.exp, math.exp of a tile, or of one of the kernel's numbers."""
    if not isinstance(context.node, ast.Call) or not isinstance(context.node.func, ast.Attribute):
        return ""
    owner = context.value(context.node.func.value)
    name = owner.__name__ if isinstance(owner, ModuleType) else ""
    if name not in WORK_ON or not _uses_kernel_values(context):
        return ""
    fix = (
        instead_of(context.node.func.attr, context.node, context)
        or "A kernel computes with tl.* and the signs + − * /."
    )
    argument = written(context.node.args[0]) if context.node.args else "its argument"
    return f"`{context.called}` works {WORK_ON[name]}; `{argument}` is a value of the kernel. {fix}"


def _uses_kernel_values(context: ErrorContext) -> bool:
    """True if a value of the kernel is among the call's arguments."""
    arguments = [*context.node.args, *(keyword.value for keyword in context.node.keywords)]
    names = (context.value(name) for argument in arguments for name in context.names_in(argument))
    return any(map(is_tensor, (*names, *context.operands)))


def python_function(context: ErrorContext) -> str:
    """sum, max, abs, len, float … of a tile."""
    name = context.called
    if name not in PYTHON_FUNCTIONS or not isinstance(context.node, ast.Call) or not context.node.args:
        return ""
    first = context.node.args[0]
    values = (context.value(first), *context.operands[:1])
    shadowed = getattr(context.globals.get(name), "__module__", "builtins") not in (
        "builtins",
        elementwise.__name__,
    )
    on_tile = any(map(is_tile, values)) or (values[0] is UNKNOWN and "'tensor'" in context.message)
    if shadowed or not on_tile:
        return ""
    return f"Python's {name} {PYTHON_FUNCTIONS[name].format(written(first))}."


def loop_over_a_tile(context: ErrorContext) -> str:
    """for v in x."""
    if not isinstance(context.node, ast.For) or not isinstance(context.node.iter, ast.Name):
        return ""
    value = context.value(context.node.iter)
    if not is_tile(value):
        return ""
    name = context.node.iter.id
    return (
        f"`for {written(context.node.target)} in {name}`: a kernel cannot iterate over a tile. Operations "
        f"act on all {math.prod(shape(value))} lanes at once, and tl.sum, tl.max or tl.min reduce them to "
        "one number."
    )


def unsupported_operator(context: ErrorContext) -> str:
    """x ** 2, a @ b."""
    if not isinstance(context.node, ast.BinOp | ast.AugAssign):
        return ""
    if "unsupported operand" not in context.message or "'tensor'" not in context.message:
        return ""
    left, right = (
        (context.node.left, context.node.right)
        if isinstance(context.node, ast.BinOp)
        else (context.node.target, context.node.value)
    )
    if isinstance(context.node.op, ast.MatMult):
        return f"Tiles have no @: the product of two matrices is `tl.dot({written(left)}, {written(right)})`."
    if isinstance(context.node.op, ast.Pow):
        twice = isinstance(right, ast.Constant) and right.value == 2
        product = f"{written(left)} * {written(left)}" if isinstance(left, ast.Name) else "x * x"
        fix = (
            f"A square is `{product}`."
            if twice
            else "Multiply, or write tl.exp(y * tl.log(x)) for a positive x."
        )
        return f"Tiles have no **. {fix}"
    return ""


def torch_method(context: ErrorContext) -> str:
    """x.float(), x.mT, x.unsqueeze(1): methods of torch tensors that tiles lack."""
    if not isinstance(context.error, AttributeError) or not isinstance(context.node, ast.Attribute):
        return ""
    owner, name = context.error.obj, context.node.attr
    if not is_tensor(owner) or is_address(owner):
        return ""
    if name in ("t", "T", "mT", "transpose", "permute") and len(shape(owner)) < 2:
        return _nothing_to_transpose(context, owner)
    calls = (node for node in ast.walk(context.statement) if isinstance(node, ast.Call))
    call = next((call for call in calls if call.func is context.node), None)
    fix = instead_of(name, call, context, context.node.value)
    if fix:
        return f"A tile has no .{name}. {fix}"
    close = difflib.get_close_matches(
        name, [n for n in dir(tl.tensor) if not n.startswith("_")], n=1, cutoff=0.7
    )
    return f"A tile has no .{name}. Did you mean .{close[0]}?" if close else ""


def _nothing_to_transpose(context: ErrorContext, value: Any) -> str:
    return (
        f"`{context.text}`: a tile of {shape(value)} has one axis, nothing to transpose. [:, None] makes a "
        "column of it, [None, :] a row."
    )


def transposed_vector(context: ErrorContext) -> str:
    """x.T of one axis."""
    if (
        not isinstance(context.node, ast.Attribute)
        or context.node.attr != "T"
        or not isinstance(context.error, IndexError)
    ):
        return ""
    value = context.value(context.node.value)
    value = context.operands[0] if not is_tensor(value) and context.operands else value
    if len(shape(value)) != 1:
        return ""
    return _nothing_to_transpose(context, value)


def library_dtype(context: ErrorContext) -> str:
    """torch.float32, np.float32 or "float32" where one of Triton's dtypes is wanted."""
    if context.called.rpartition(".")[2] not in ("to", "zeros", "full", "cast", "zeros_like", "dot"):
        return ""
    arguments = [*context.node.args, *(k.value for k in context.node.keywords)]
    for argument in arguments:
        value = context.value(argument)
        whose = _dtype_owner(value)
        if whose:
            name = value if isinstance(value, str) else written(argument).rpartition(".")[2]
            own = TYPES.get(
                name, f"tl.{name}" if isinstance(getattr(tl, name, None), tl.dtype) else "tl.float32"
            )
            return f"`{written(argument)}` is {whose}. A kernel needs Triton's dtypes: write `{own}`."
    return ""


def _dtype_owner(value: Any) -> str:
    kind = type(value)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return "a torch dtype"
    if inspect.isclass(value) and value.__module__ == "numpy":
        return "a NumPy dtype"
    if inspect.isclass(value) and value.__module__ == "builtins":
        return "a Python type"
    return "text" if isinstance(value, str) and (value in TYPES or hasattr(tl, value)) else ""


def torch_tensor_in_kernel(context: ErrorContext) -> str:
    """A torch tensor, made in the kernel or a global of the notebook, in an operation with a tile."""
    sides = [
        value for value in context.operands if type(value).__module__ == "torch" and hasattr(value, "dtype")
    ]
    if not sides or not isinstance(context.node, ast.BinOp | ast.AugAssign | ast.Compare):
        return ""
    name = next(
        (n.id for n in context.names_in(context.node) if context.value(n) is sides[0]),
        "one of the two",
    )
    return (
        f"In `{context.text}` {name} is a torch tensor, and the kernel's values are tiles. Make a tile "
        "of zeros with `tl.zeros([BLOCK], dtype=tl.float32)`; a tensor is passed to a kernel as an argument "
        "of the launch and read with tl.load."
    )


def integer_argument(context: ErrorContext) -> str:
    """tl.exp of whole numbers."""
    if "Expected dtype" not in context.message or not context.called or not context.operands:
        return ""
    value = context.operands[0]
    if not is_tensor(value) or is_address(value) or not context.node.args:
        return ""
    name = written(context.node.args[0])
    if not value.type.scalar.is_int():
        return (
            f"{context.called} computes in fp32 here, and `{name}` is {dtype(value)}: write "
            f"`{context.called}({name}.to(tl.float32))`."
        )
    return (
        f"{context.called} works on floating-point numbers, and `{name}` is {dtype(value)}: write "
        f"`{context.called}({name}.to(tl.float32))`."
    )


RULES = (
    library_function,
    python_function,
    loop_over_a_tile,
    unsupported_operator,
    transposed_vector,
    library_dtype,
    torch_tensor_in_kernel,
    torch_method,
    integer_argument,
)
