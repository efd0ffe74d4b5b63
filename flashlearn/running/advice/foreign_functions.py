"""Functions of torch, NumPy and Python that a kernel cannot use, and those of Triton's that do it."""

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
    Slip,
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

PYTHONS = {
    "sum": "adds what a list holds, and a tile is no list: `tl.sum({0}, axis=0)` adds along an axis",
    "max": "looks at what a list holds, and a tile is none: `tl.max({0}, axis=0)` is its largest lane, and "
    "tl.maximum(x, y) the larger of two",
    "min": "looks at what a list holds, and a tile is none: `tl.min({0}, axis=0)` is its smallest lane, and "
    "tl.minimum(x, y) the smaller of two",
    "abs": "knows no tiles: write `tl.abs({0})`",
    "pow": "knows no tiles: write x * x for a square, else `tl.exp(y * tl.log(x))`",
    "round": "knows no tiles: write `tl.floor({0} + 0.5)`",
    "float": "makes one number of Python's, and {0} is a tile: write `{0}.to(tl.float32)`",
    "int": "makes one number of Python's, and {0} is a tile: write `{0}.to(tl.int32)`",
    "len": "does not count a tile: its size is the constant that it was made with, BLOCK or {0}.shape[0]",
    "sorted": "knows no tiles: write `tl.sort({0})`",
    "any": "knows no tiles: write `tl.max({0}.to(tl.int32), axis=0)`",
    "all": "knows no tiles: write `tl.min({0}.to(tl.int32), axis=0)`",
    "list": "cannot take a tile apart: operations act on all of its lanes at once",
    "enumerate": "cannot take a tile apart: operations act on all of its lanes at once",
    "zip": "cannot take tiles apart: operations act on all of their lanes at once",
}


def function_of_another_library(slip: Slip) -> str:
    """torch.exp, np.exp, math.exp of a tile, or of one of the kernel's numbers."""
    if not isinstance(slip.node, ast.Call) or not isinstance(slip.node.func, ast.Attribute):
        return ""
    owner = slip.value(slip.node.func.value)
    name = owner.__name__ if isinstance(owner, ModuleType) else ""
    if name not in WORK_ON or not _of_this_kernel(slip):
        return ""
    mend = (
        instead_of(slip.node.func.attr, slip.node, slip)
        or "A kernel computes with tl.* and the signs + − * /."
    )
    argument = written(slip.node.args[0]) if slip.node.args else "its argument"
    return f"`{slip.called}` works {WORK_ON[name]}; `{argument}` is a value of the kernel. {mend}"


def _of_this_kernel(slip: Slip) -> bool:
    """True if a value of the kernel is among the call's arguments."""
    arguments = [*slip.node.args, *(keyword.value for keyword in slip.node.keywords)]
    names = (slip.value(name) for argument in arguments for name in slip.names_in(argument))
    return any(map(is_tensor, (*names, *slip.operands)))


def function_of_pythons(slip: Slip) -> str:
    """sum, max, abs, len, float … of a tile."""
    name = slip.called
    if name not in PYTHONS or not isinstance(slip.node, ast.Call) or not slip.node.args:
        return ""
    first = slip.node.args[0]
    values = (slip.value(first), *slip.operands[:1])
    shadowed = getattr(slip.globals.get(name), "__module__", "builtins") not in (
        "builtins",
        elementwise.__name__,
    )
    if shadowed or not (any(map(is_tile, values)) or (values[0] is UNKNOWN and "'tensor'" in slip.said)):
        return ""
    return f"Python's {name} {PYTHONS[name].format(written(first))}."


def loop_over_a_tile(slip: Slip) -> str:
    """for v in x."""
    if not isinstance(slip.node, ast.For) or not isinstance(slip.node.iter, ast.Name):
        return ""
    value = slip.value(slip.node.iter)
    if not is_tile(value):
        return ""
    name = slip.node.iter.id
    return (
        f"`for {written(slip.node.target)} in {name}`: a kernel does not walk along a tile. Its operations "
        f"act on all {math.prod(shape(value))} lanes at once, and tl.sum, tl.max or tl.min make one number "
        "of them."
    )


def operator_that_tiles_lack(slip: Slip) -> str:
    """x ** 2, a @ b."""
    if not isinstance(slip.node, ast.BinOp | ast.AugAssign) or "unsupported operand" not in slip.said:
        return ""
    if "'tensor'" not in slip.said:
        return ""
    left, right = (
        (slip.node.left, slip.node.right)
        if isinstance(slip.node, ast.BinOp)
        else (slip.node.target, slip.node.value)
    )
    if isinstance(slip.node.op, ast.MatMult):
        return f"Tiles know no @: the product of two matrices is `tl.dot({written(left)}, {written(right)})`."
    if isinstance(slip.node.op, ast.Pow):
        twice = isinstance(right, ast.Constant) and right.value == 2
        product = f"{written(left)} * {written(left)}" if isinstance(left, ast.Name) else "x * x"
        mend = (
            f"A square is `{product}`."
            if twice
            else "Multiply, or write tl.exp(y * tl.log(x)) for a positive x."
        )
        return f"Tiles know no **. {mend}"
    return ""


def method_of_torchs(slip: Slip) -> str:
    """x.float(), x.mT, x.unsqueeze(1): methods of torch's tensors, which tiles lack."""
    if not isinstance(slip.error, AttributeError) or not isinstance(slip.node, ast.Attribute):
        return ""
    owner, name = slip.error.obj, slip.node.attr
    if not is_tensor(owner) or is_address(owner):
        return ""
    if name in ("t", "T", "mT", "transpose", "permute") and len(shape(owner)) < 2:
        return _nothing_to_transpose(slip, owner)
    calls = (node for node in ast.walk(slip.statement) if isinstance(node, ast.Call))
    call = next((call for call in calls if call.func is slip.node), None)
    mend = instead_of(name, call, slip, slip.node.value)
    if mend:
        return f"A tile has no .{name}. {mend}"
    close = difflib.get_close_matches(
        name, [n for n in dir(tl.tensor) if not n.startswith("_")], n=1, cutoff=0.7
    )
    return f"A tile has no .{name}. Did you mean .{close[0]}?" if close else ""


def _nothing_to_transpose(slip: Slip, value: Any) -> str:
    return (
        f"`{slip.text}`: a tile of {shape(value)} has one axis and nothing to transpose. [:, None] makes a "
        "column of it, [None, :] a row."
    )


def transposed_vector(slip: Slip) -> str:
    """x.T of one axis."""
    if (
        not isinstance(slip.node, ast.Attribute)
        or slip.node.attr != "T"
        or not isinstance(slip.error, IndexError)
    ):
        return ""
    value = slip.value(slip.node.value)
    value = slip.operands[0] if not is_tensor(value) and slip.operands else value
    if len(shape(value)) != 1:
        return ""
    return _nothing_to_transpose(slip, value)


def dtype_of_another_library(slip: Slip) -> str:
    """torch.float32, np.float32 or "float32" where one of Triton's dtypes is wanted."""
    if slip.called.rpartition(".")[2] not in ("to", "zeros", "full", "cast", "zeros_like", "dot"):
        return ""
    arguments = [*slip.node.args, *(k.value for k in slip.node.keywords)]
    for argument in arguments:
        value = slip.value(argument)
        whose = _dtype_owner(value)
        if whose:
            name = value if isinstance(value, str) else written(argument).rpartition(".")[2]
            own = TYPES.get(
                name, f"tl.{name}" if isinstance(getattr(tl, name, None), tl.dtype) else "tl.float32"
            )
            return f"`{written(argument)}` is {whose}. A kernel has dtypes of its own: write `{own}`."
    return ""


def _dtype_owner(value: Any) -> str:
    kind = type(value)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return "a dtype of torch's"
    if inspect.isclass(value) and value.__module__ == "numpy":
        return "a dtype of NumPy's"
    if inspect.isclass(value) and value.__module__ == "builtins":
        return "a type of Python's"
    return "text" if isinstance(value, str) and (value in TYPES or hasattr(tl, value)) else ""


def tensor_of_torchs_among_tiles(slip: Slip) -> str:
    """torch.zeros was made in the kernel, or a tensor is a global of the notebook, and meets a tile."""
    sides = [
        value for value in slip.operands if type(value).__module__ == "torch" and hasattr(value, "dtype")
    ]
    if not sides or not isinstance(slip.node, ast.BinOp | ast.AugAssign | ast.Compare):
        return ""
    name = next(
        (n.id for n in slip.names_in(slip.node) if slip.value(n) is sides[0]),
        "one of the two",
    )
    return (
        f"In `{slip.text}` {name} is a tensor of torch's, and the kernel's values are tiles. Make a tile "
        "of zeros with `tl.zeros([BLOCK], dtype=tl.float32)`; a tensor comes into a kernel as an argument "
        "of the launch, and is read with tl.load."
    )


def not_a_fraction(slip: Slip) -> str:
    """tl.exp of whole numbers."""
    if "Expected dtype" not in slip.said or not slip.called or not slip.operands:
        return ""
    value = slip.operands[0]
    if not is_tensor(value) or is_address(value) or not slip.node.args:
        return ""
    name = written(slip.node.args[0])
    if not value.type.scalar.is_int():
        return (
            f"{slip.called} computes in fp32 here, and `{name}` is {dtype(value)}: write "
            f"`{slip.called}({name}.to(tl.float32))`."
        )
    return (
        f"{slip.called} works on floating-point numbers, and `{name}` is {dtype(value)}: write "
        f"`{slip.called}({name}.to(tl.float32))`."
    )


RULES = (
    function_of_another_library,
    function_of_pythons,
    loop_over_a_tile,
    operator_that_tiles_lack,
    transposed_vector,
    dtype_of_another_library,
    tensor_of_torchs_among_tiles,
    method_of_torchs,
    not_a_fraction,
)
