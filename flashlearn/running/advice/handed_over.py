"""What the launch handed to a kernel that is neither a tensor nor a number."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import triton.language as tl

from flashlearn.running.advice.slip import Slip


def neither_tensor_nor_number(slip: Slip) -> str:
    """A list, a shape, text, None, an array of NumPy's, a method that was not called."""
    if not isinstance(slip.error, TypeError | AttributeError | ValueError):
        return ""
    for name in slip.names_in(slip.node):
        if name.id in slip.given and name.id in slip.parameters and _as_handed(slip, name.id):
            spoken = _what_it_is(name.id, slip.given[name.id])
            if spoken:
                return spoken
    return ""


def _as_handed(slip: Slip, name: str) -> bool:
    """True if it is what met here: the kernel has not given the name another value since."""
    now, given = slip.names.get(name), slip.given[name]
    if now is not given and not isinstance(given, tuple):
        return False
    met = (*slip.operands, *slip.keywords.values())
    kinds = (tuple, tl.tuple) if isinstance(given, tuple) else type(given)
    return any(isinstance(value, kinds) for value in met)


def _what_it_is(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return (
            f"The launch hands over a tuple for {name}, {_short(value)}, and this line computes with it as "
            "with one number. x.shape and x.stride() are tuples; one number is x.shape[0], x.stride(0), "
            "or x.numel() for all elements."
        )
    if isinstance(value, list):
        return (
            f"The launch hands over a list for {name}, {_short(value)}. A kernel takes tensors and "
            "numbers: hand each number over as an argument of its own."
        )
    if inspect.isroutine(value):
        own = getattr(value, "__name__", name)
        return f"The launch hands over a function for {name}: are the parentheses missing, as in x.{own}(0)?"
    if isinstance(value, str):
        return f"The launch hands over text for {name}, {value!r}: a number is written without quotes."
    if value is None:
        return f"The launch hands over None for {name}, and this line wants a number or a tensor."
    if isinstance(value, torch.dtype):
        return (
            f"The launch hands over a dtype for {name}. A kernel takes tensors and numbers; it learns a "
            "tensor's dtype from the pointer, x_ptr.dtype.element_ty."
        )
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return (
            f"The launch hands over an array of NumPy's for {name}: a kernel takes torch tensors, "
            "torch.from_numpy(x)."
        )
    if kind.__module__ == "numpy":
        return (
            f"The launch hands over a number of NumPy's for {name}, {kind.__name__}: make one of Python's "
            "of it, int(n)."
        )
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:38] + " …"


RULES = (neither_tensor_nor_number,)
