"""Advice on the exceptions that torch, sympy and Python raise most often in a learner's own code.

    >>> advice_sentence(error, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)", f,
    line) 'RuntimeError: mat1 and mat2 … (4x3 and 2x3). In A @ B, A has as many columns as B has rows: here dy
    is …'

The original message comes first, so that it can be searched for. The advice says what the values in the
marked line are, and what to try.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from sympy import Basic
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.later import types_of
from flashlearn.running.condition_advice import tensor_as_condition
from flashlearn.running.index_advice import index_beyond

MAX_NAMES = 6
IMPORTS = {
    "np": "import numpy as np",
    "sp": "import sympy as sp",
    "tl": "import triton.language as tl",
    **{name: f"import {name}" for name in ("torch", "triton", "math", "numpy", "sympy", "flashlearn")},
}
SYMPY = "sympy's, such as sp.exp; on each entry of a matrix, p.applyfunc(sp.exp)"

OF_SYMPY = r"\w*(?:Matrix|Symbol|Indexed|Rational|Integer|Add|Mul|Pow|One|Zero|Half|Float|Infinity|exp|log)\b"
"""A class of sympy's, as messages name it."""

INSTEAD = {
    "mT": "its transpose is written .T",
    "exp": "p.applyfunc(sp.exp) takes exp of each entry",
    "log": "p.applyfunc(sp.log) takes log of each entry",
    "sum": "sum(p) adds up the entries of p",
    "mean": "sum(p) / len(p) is the mean of the entries of p",
    "softmax": "p.applyfunc(sp.exp) takes exp of each entry, and sum(p) adds entries up",
    "size": "its sizes are .rows and .cols",
    "dim": "it always has two dimensions, .rows and .cols",
    "matmul": "* between matrices is the matrix product",
    "mm": "* between matrices is the matrix product",
    "mul": "p.multiply_elementwise(q) is the product entry by entry",
    "unsqueeze": "a column is N×1 already, and .T makes a row of it",
    "view": "p.reshape(rows, columns) keeps its entries",
}
"""What a sympy matrix has in place of a tensor's method."""

PAIRS = "torch's max, min and sort along a dimension return a pair, the values and their indices."

# A pattern of «Type: message», and what to add; {here} becomes «here x is [4, 2] and w [2, 3]», or nothing.
ADVICE = (
    (
        r"shapes cannot be multiplied|Expected size for first two dimensions|inconsistent tensor size",
        "In A @ B, A must have as many columns as B has rows{here}. Write down the shape that each of them "
        "should have, and go back to the line where one has another shape.",
    ),
    (
        r"The size of tensor a .* must match the size of tensor b",
        "The shapes of two tensors in this line do not match, counted from the last dimension{here}.{vector} "
        "Write down both shapes: is one of them not what it should be, or does it lack an axis of length 1?",
    ),
    (
        r"ValueError: (math domain error|expected a nonnegative input)",
        "Functions of math take real numbers for which the result is real: math.sqrt none below 0, math.log "
        "none that is 0 or below. Which of the arguments may be negative here?",
    ),
    (
        r"invalid for input of size",
        "view and reshape keep every element: the new sizes' product must be that number{here}.",
    ),
    (
        r"torch\.return_types\.",
        f"{PAIRS} Take .values of it, or amax and amin in place of max and min.",
    ),
    (
        r"tuple indices must be integers or slices, not tuple",
        f"What is indexed here is a tuple and no tensor. {PAIRS}",
    ),
    (
        r"1D tensors expected|must be a matrix|must be a 3D tensor|must have same reduction dim",
        "torch.dot needs two vectors, torch.mm two matrices, torch.bmm two stacks of them; A @ B takes all "
        "of these{here}.",
    ),
    (
        r"Dimension out of range.*\[-1, 0\]",
        "A tensor of one dimension has 0 alone, or −1{here}.",
    ),
    (
        r"Dimension out of range.*\[-2, 1\]",
        "A tensor of two dimensions has 0 and 1, or −2 and −1{here}.",
    ),
    (
        r"Dimension out of range",
        "Dimensions count from 0, or backwards from −1{here}.",
    ),
    (
        r"^AssertionError$",
        "An assert of yours does not hold in this case{here}.",
    ),
    (
        r"incorrect number of gradients",
        "backward returns one gradient for each argument of forward, in their order, and None for those that "
        "need none.",
    ),
    (
        r"(not enough|too many) values to unpack",
        "There are more or fewer names on the left of = than values: a shape with another number of "
        "dimensions, or what a function returns{here}.",
    ),
    (
        r"Expected target size|Expected input batch_size",
        "F.cross_entropy takes logits [N, classes, length] and targets [N, length], or logits [N, classes] "
        "and targets [N]{here}: is a length another one, or are the classes in another dimension?",
    ),
    (
        r"IndexError: .*(out of bounds|out of range)",
        "Indices count from 0, and each stays below the size of its own dimension{here}.",
    ),
    (
        r"leaf Variable that requires grad",
        "+=, *= and assigning into a tensor overwrite it, and this one's gradient is still wanted: make a "
        "new one, x = x + 1, or work on x.clone().",
    ),
    (
        r"modified by an inplace operation",
        "A value that the backward pass needs was overwritten (+=, *=, x[…] = …): make a new tensor instead.",
    ),
    (
        r"not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs",
        "The check passes tensors on the CPU to your function, with or without a GPU: create new ones on the "
        "arguments' device, torch.empty(…, device=x.device).",
    ),
    (
        r"tensors to be on the same device|tensor.* on (the )?device meta|device type",
        "Create new tensors on the arguments' device, device=x.device, and move none.",
    ),
    (
        r"same dtype|expected scalar type|dtypes? to be the same",
        "Both operands need one dtype: convert one of them, such as y.to(x.dtype){kinds}.",
    ),
    (
        r"transpose\(\) missing",
        "transpose names two dimensions, x.transpose(−2, −1); x.mT swaps the last two.",
    ),
    (
        r"missing \d+ required positional argument.*dim",
        "Name the dimension to work along, such as dim=-1 for each row.",
    ),
    (
        r"missing \d+ required positional argument|takes \d+ positional argument",
        "Compare the call in the marked line with the function's parameters: is one missing, or too many?",
    ),
    (
        r"loop of ufunc does not support|has no callable \w+ method",
        f"NumPy's functions need numbers, and a symbol has no value yet: use {SYMPY}.",
    ),
    (
        rf"must be Tensor, not {OF_SYMPY}|invalid combination of arguments - got \(.*\b{OF_SYMPY}"
        rf"|Could not infer dtype of {OF_SYMPY}"
        rf"|unsupported operand.*('Tensor' and '{OF_SYMPY}|{OF_SYMPY}' and 'Tensor')",
        "torch computes with numbers in tensors, and this exercise asks for a formula: its arguments are "
        f"sympy's, symbols and fractions. Use {SYMPY}.",
    ),
    (
        r"unsupported ScalarType",
        "NumPy has no bf16: stay with torch's functions, which have all of these dtypes.",
    ),
    (
        r"must be Tensor, not",
        "torch's functions need tensors: torch.tensor(…) makes one; Python's math does for plain numbers.",
    ),
    (
        r"SympifyError",
        "sympy could not read this text as a formula. Build the formula from the function's arguments "
        "instead of from text.",
    ),
    (
        r"ShapeError: .*\) \* \(|ShapeError: Matrix size mismatch\.?$",
        "Between sympy's matrices * is the matrix product: the left one needs as many columns as the right "
        "one has rows{here}. p.T turns a column into a row; element by element it is "
        "p.multiply_elementwise(q).",
    ),
    (
        r"ShapeError",
        "Matrices that are added must have the same shape{here}. p*p.T makes a square matrix of a column, "
        "sp.diag(*p) puts it on a diagonal.",
    ),
    (
        r"NonSquareMatrixError",
        "sympy takes powers and exp of a matrix as a whole, which must be square{here}. For each entry by "
        "itself write p.applyfunc(lambda x: x**2), or p.applyfunc(sp.exp).",
    ),
    (
        r"First variable cannot be a number|Can't calculate.*derivative",
        "A derivative is taken with respect to a symbol, but this is a value{here}.",
    ),
    (
        r"bad operand type.*(builtin_function_or_method|'method'|'function')",
        "What has a sign there is a function that was not called: are its parentheses missing?",
    ),
    (
        r"unsupported operand.*(builtin_function_or_method|'method'|'function')",
        "One of the two is a function that was not called: are its parentheses missing?",
    ),
    (
        r"unsupported operand.*'NoneType'|'NoneType' object",
        "Something in this line is None: does a function that you call lack a return statement?",
    ),
    (
        r"(unsupported operand|can only concatenate|can't multiply sequence).*str",
        "Text in quotes is not a number: write it without the quotes.",
    ),
    (
        r"unsupported operand.*'NaN'",
        "One of the two is sympy's nan, which has no value: an infinity minus an infinity gives it, or 0 "
        "times an infinity. A matrix times nan is nan.",
    ),
    (
        r"unsupported operand.* for //?: '\w+' and '\w*Matrix'",
        "Nothing can be divided by a matrix of sympy{here}: p.applyfunc(lambda x: 1 / x) inverts each entry, "
        "and A.inv() is the inverse of a square matrix.",
    ),
    (
        r"unsupported operand.* for \+: ('(list|tuple)' and '\w*Matrix'|'\w*Matrix' and '(list|tuple)')",
        "A list and a matrix cannot be added: sp.Matrix(…) makes a matrix of a list.",
    ),
    (
        r"unsupported operand.* for \+: .*Matrix'",
        "A number and a matrix cannot be added{here}.{sum} Is the number meant for every entry, times "
        "sp.ones(rows, columns), or for the diagonal, times sp.eye(n), or is a matrix missing that it "
        "multiplies?",
    ),
    (
        r"only integer tensors of a single element can be converted to an index",
        "There is a tensor where Python needs one whole number: an index, a range, or a repeat count. "
        "Is a number written in quotes? Is a tensor multiplied by a pair, such as x.max(dim=1) returns?",
    ),
    (
        r"^KeyError: ",
        "A dictionary was asked for this key and does not have it: which keys did it get?",
    ),
    (
        r"Boolean value of Tensor with more than one value",
        "if, and, or, max and min need one truth value, but a tensor holds many: use torch.where, "
        "torch.maximum, or & and | between masks.",
    ),
)  # fmt: skip


SUM_BEGINS = " sum(…) begins with the number 0; sum(…, sp.zeros(rows, columns)) begins with a matrix."


def advice_sentence(error: BaseException, message: str, frame: FrameType | None, line: str) -> str:
    """`message`, which is «Type: text», with what was found and what to try; unchanged if nothing is known.

    `frame` is the learner's own frame in which it happened, `line` that line's text.
    """
    message = message.removesuffix(": no message")
    advice = ""
    if isinstance(error, NameError):
        advice = _unknown_name(error, frame)
    elif isinstance(error, AttributeError) and "'NoneType'" not in message:
        advice = _unknown_attribute(error)
    elif "Boolean value of Tensor" in message:
        advice = tensor_as_condition(frame, line)
    advice = advice or next((words for pattern, words in ADVICE if re.search(pattern, message)), "")
    if not advice:
        here = _values_on_line(frame, line, _size)
        return (
            f"{message.rstrip('.: ')}. In the marked line{here.replace(': here', '')}." if here else message
        )
    if isinstance(error, IndexError) and (beyond := index_beyond(frame, line)):
        return f"{beyond} Python's own words: {message.rstrip('.: ')}."
    advice = advice.replace("{here}", _values_on_line(frame, line, _size)).replace(
        "{kinds}", _values_on_line(frame, line, _dtype)
    )
    advice = advice.replace("{vector}", _vector_on_line(frame, line, message))
    of_sum = re.search(r"\bsum\(", line) and "'int' and" in message
    advice = advice.replace("{sum}", SUM_BEGINS if of_sum else "")
    if re.search(rf"'{OF_SYMPY}'|\b(?:not|of|got \() ?{OF_SYMPY}", message):
        # names of classes that nobody writes: they come after what is in words
        return f"{advice} Python's own words: {message.rstrip('.: ')}."
    return f"{message.rstrip('.: ')}. {advice}"


def _unknown_name(error: NameError, frame: FrameType | None) -> str:
    name = error.name or ""
    if isinstance(error, UnboundLocalError) or not name:
        return "The function assigns this name further down: it has no value yet in this line."
    if name in IMPORTS:
        return f"Write {IMPORTS[name]} in a cell above, and run it."
    known = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
    modules = {alias: value for alias, value in known.items() if isinstance(value, ModuleType)}
    for module in filter(None, map(sys.modules.get, ("sympy", "torch"))):
        if callable(getattr(module, name, None)):
            alias = next((a for a, value in modules.items() if value is module), None)
            if alias:
                return f"{module.__name__}'s own is written {alias}.{name}."
    local = list(frame.f_locals) if frame is not None else []
    close = [other for other in local if other.lower() == name.lower()]
    close = close or difflib.get_close_matches(name, local, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {close[0]}?"
    return "Is it misspelled, or does the cell that defines it still have to run?"


def _unknown_attribute(error: AttributeError) -> str:
    owner, torch = type(error.obj), sys.modules.get("torch")
    of_torch = torch is not None and hasattr(torch.Tensor, error.name or "")
    single = isinstance(error.obj, Basic) and not isinstance(error.obj, MatrixBase)
    own = callable(getattr(sys.modules.get("sympy"), error.name or "", None))  # sp.exp is for both
    if single and hasattr(MatrixBase, error.name or "") and not own:
        return f".{error.name} belongs to matrices, and here is a single expression."
    if of_torch and isinstance(error.obj, Basic | MatrixBase):
        what = "a matrix" if isinstance(error.obj, MatrixBase) else "an expression"
        instead = f"; {INSTEAD[error.name]}" if what == "a matrix" and error.name in INSTEAD else ""
        return f".{error.name} belongs to torch's tensors, and here is {what} of sympy's{instead}."
    public = [name for name in dir(owner) if not name.startswith("_")]
    close = difflib.get_close_matches(error.name or "", public, n=1, cutoff=0.7)
    return f"Did you mean .{close[0]}?" if close else ""


def _values_on_line(frame: FrameType | None, line: str, words_for: Callable[[Any], str]) -> str:
    """The values of the names in a line: «: here x is [4, 2] and w is [2, 3]», or nothing."""
    if frame is None:
        return ""
    found = {}
    for name in re.findall(r"\b[A-Za-z_]\w*\b", line):
        words = words_for(frame.f_locals.get(name))
        if words:
            found[name] = words
    values = [f"{name} is {words}" for name, words in list(found.items())[:MAX_NAMES]]
    if not values:
        return ""
    return f": here {', '.join(values[:-1])}{' and ' if len(values) > 1 else ''}{values[-1]}"


def _vector_on_line(frame: FrameType | None, line: str, message: str) -> str:
    """What becomes of a tensor with one number per row, where it meets a matrix in a line."""
    names = dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*\b", line)) if frame is not None else {}
    values = {name: frame.f_locals.get(name) for name in names} if frame is not None else {}
    tensors = {name: v for name, v in values.items() if isinstance(v, types_of("torch", "Tensor"))}
    sizes = set(re.findall(r"tensor [ab] \((\d+)\)", message))
    for name, vector in tensors.items():
        rows = vector.shape[0] if vector.ndim == 1 else 0
        if str(rows) in sizes and any(
            t.ndim == 2 and t.shape[0] == rows != t.shape[1] for t in tensors.values()
        ):
            return (
                f" {name} has one dimension, which is lined up with the last one of the other tensor. One "
                f"number per row is a column, {name}[:, None]."
            )
    return ""


def _size(value: Any) -> str:
    if isinstance(value, types_of("torch", "Tensor")):
        return str(list(value.shape))
    if isinstance(value, MatrixBase):
        return f"{value.rows}×{value.cols}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{value}" if isinstance(value, int) and not isinstance(value, bool) else ""


def _dtype(value: Any) -> str:
    tensor = isinstance(value, types_of("torch", "Tensor"))
    return str(value.dtype).removeprefix("torch.") if tensor else ""
