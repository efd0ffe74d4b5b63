"""Launchers that call a kernel, compute with Triton's language, or launch what is no kernel."""

from __future__ import annotations

import ast
import re
import traceback
from types import FunctionType

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter.descriptors import misfit
from flashlearn.running.advice.error_context import Slip, dotted, written

NO_TUPLE = (
    r"concatenate tuple|Size' object cannot be|not (tuple|torch\.Size)\b|(operand|between).*torch\.Size"
)
ALLOCATES = ("zeros", "full", "zeros_like")
NO_KERNEL_RUNS = ("is launched with kernel[grid]", "Did you forget to add @triton.jit")


def called_and_not_launched(slip: Slip) -> str:
    """add_kernel(x, y) for add_kernel[grid](x, y)."""
    if not slip.called or not any(part in slip.said for part in NO_KERNEL_RUNS):
        return ""
    if slip.called.startswith("tl."):
        return _language_of_kernels(slip)
    if not hasattr(slip.value(slip.node.func), "fn"):
        return ""
    grid = next((written(k.value) for k in slip.node.keywords if k.arg == "grid"), "grid")
    return (
        f"{slip.called} is a @triton.jit function, which a launcher does not call but launch, on a grid of "
        f"programs that stands in brackets: `{slip.called}[{grid}](…)`, with a tuple as grid."
    )


def _language_of_kernels(slip: Slip) -> str:
    name = slip.called.removeprefix("tl.")
    here = f"triton.{name}" if hasattr(triton, name) else f"torch.{name}" if name in ALLOCATES else ""
    mend = f"Here one writes `{here}`." if here else "Does it belong into the kernel?"
    return (
        f"{slip.called} works in kernels only, and this line stands in the launcher, which is ordinary "
        f"Python. {mend}"
    )


def launched_and_no_kernel(slip: Slip) -> str:
    """A function without @triton.jit, launched."""
    if not isinstance(slip.node, ast.Subscript) or "is not subscriptable" not in slip.said:
        return ""
    if not isinstance(slip.value(slip.node.value), FunctionType):
        return ""
    name = dotted(slip.node.value)
    return (
        f"{name} is an ordinary Python function, which cannot be launched: is @triton.jit missing above "
        "its def?"
    )


def size_of_a_whole_shape(slip: Slip) -> str:
    """n = x.shape, where a number is wanted."""
    if not isinstance(slip.error, TypeError) or not re.search(NO_TUPLE, slip.said):
        return ""
    for name in slip.names_in(slip.node):
        value = slip.value(name)
        if isinstance(value, torch.Size):
            return (
                f"{name.id} is a whole shape, {tuple(value)}, and here one number is wanted: x.shape[0] is "
                "the first size, x.numel() the number of all elements."
            )
    return ""


def method_not_called(slip: Slip) -> str:
    """n = x.numel, where a number is wanted."""
    if not isinstance(slip.error, TypeError) or "builtin_function_or_method" not in slip.said:
        return ""
    for name in slip.names_in(slip.node):
        value = slip.value(name)
        if isinstance(getattr(value, "__self__", None), torch.Tensor):
            own = value.__name__
            mend = "x.numel() counts the elements" if own == "size" else f"x.{own}() calls it"
            return f"{name.id} is the method .{own} itself, which was not called: {mend}."
    return ""


def grid_asks_for_another_name(slip: Slip) -> str:
    """lambda meta: meta["BLOCK_SIZE"], where the parameter is called BLOCK."""
    if (
        not isinstance(slip.error, KeyError)
        or slip.caller != "check_grid"
        or not isinstance(slip.node, ast.Subscript)
    ):
        return ""
    meta, key = slip.value(slip.node.value), slip.value(slip.node.slice)
    if not isinstance(meta, dict) or not isinstance(key, str):
        return ""
    return f"`{slip.text}`: no argument of the launch is called {key}. They are {', '.join(meta)}."


def not_to_be_described(slip: Slip) -> str:
    """TensorDescriptor.from_tensor(x, [16, 64]) of a tensor whose rows lie where TMA cannot begin."""
    frames = (frame for frame, _ in traceback.walk_tb(slip.error.__traceback__))
    made = next((f.f_locals["self"] for f in frames if f.f_code.co_name == "__post_init__"), None)
    if not isinstance(made, TensorDescriptor) or not isinstance(made.base, torch.Tensor):
        return ""
    size = made.base.element_size()
    return misfit(made.base.data_ptr(), size, made.shape, made.strides, made.block_shape)


RULES = (
    called_and_not_launched,
    launched_and_no_kernel,
    size_of_a_whole_shape,
    method_not_called,
    grid_asks_for_another_name,
    not_to_be_described,
)
