"""Launchers that call a kernel, compute with Triton's language, or launch something that is not a kernel."""

from __future__ import annotations

import ast
import re
import traceback
from types import FunctionType

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter.descriptors import misfit
from flashlearn.running.advice.error_context import ErrorContext, dotted, written

NO_TUPLE = (
    r"concatenate tuple|Size' object cannot be|not (tuple|torch\.Size)\b|(operand|between).*torch\.Size"
)
ALLOCATES = ("zeros", "full", "zeros_like")
NO_KERNEL_RUNS = ("is launched with kernel[grid]", "Did you forget to add @triton.jit")


def kernel_called_directly(context: ErrorContext) -> str:
    """add_kernel(x, y) for add_kernel[grid](x, y)."""
    if not context.called or not any(part in context.message for part in NO_KERNEL_RUNS):
        return ""
    if context.called.startswith("tl."):
        return _language_of_kernels(context)
    if not hasattr(context.value(context.node.func), "fn"):
        return ""
    grid = next((written(k.value) for k in context.node.keywords if k.arg == "grid"), "grid")
    return (
        f"{context.called} is a @triton.jit function: a launcher launches it instead of calling it, with the "
        f"grid in brackets: `{context.called}[{grid}](…)`, with a tuple as grid."
    )


def _language_of_kernels(context: ErrorContext) -> str:
    name = context.called.removeprefix("tl.")
    here = f"triton.{name}" if hasattr(triton, name) else f"torch.{name}" if name in ALLOCATES else ""
    fix = f"Write `{here}` here." if here else "Does it belong in the kernel?"
    return (
        f"{context.called} works only in kernels, and this line is in the launcher, which is ordinary "
        f"Python. {fix}"
    )


def plain_function_launched(context: ErrorContext) -> str:
    """A function without @triton.jit, launched."""
    if not isinstance(context.node, ast.Subscript) or "is not subscriptable" not in context.message:
        return ""
    if not isinstance(context.value(context.node.value), FunctionType):
        return ""
    name = dotted(context.node.value)
    return (
        f"{name} is an ordinary Python function, which cannot be launched: is @triton.jit missing above "
        "its def?"
    )


def shape_used_as_number(context: ErrorContext) -> str:
    """n = x.shape, where a number is needed."""
    if not isinstance(context.error, TypeError) or not re.search(NO_TUPLE, context.message):
        return ""
    for name in context.names_in(context.node):
        value = context.value(name)
        if isinstance(value, torch.Size):
            return (
                f"{name.id} is a whole shape, {tuple(value)}, and one number is needed here: x.shape[0] is "
                "the first size, x.numel() the number of all elements."
            )
    return ""


def method_not_called(context: ErrorContext) -> str:
    """n = x.numel, where a number is needed."""
    if not isinstance(context.error, TypeError) or "builtin_function_or_method" not in context.message:
        return ""
    for name in context.names_in(context.node):
        value = context.value(name)
        if isinstance(getattr(value, "__self__", None), torch.Tensor):
            own = value.__name__
            fix = "x.numel() counts the elements" if own == "size" else f"x.{own}() calls it"
            return f"{name.id} is the method .{own} itself, which was not called: {fix}."
    return ""


def unknown_meta_parameter(context: ErrorContext) -> str:
    """lambda meta: meta["BLOCK_SIZE"], where the parameter is called BLOCK."""
    if (
        not isinstance(context.error, KeyError)
        or context.caller != "check_grid"
        or not isinstance(context.node, ast.Subscript)
    ):
        return ""
    meta, key = context.value(context.node.value), context.value(context.node.slice)
    if not isinstance(meta, dict) or not isinstance(key, str):
        return ""
    return f"`{context.text}`: no argument of the launch is called {key}. They are {', '.join(meta)}."


def invalid_descriptor(context: ErrorContext) -> str:
    """TensorDescriptor.from_tensor(x, [16, 64]) of a tensor whose rows lie where TMA cannot begin."""
    frames = (frame for frame, _ in traceback.walk_tb(context.error.__traceback__))
    made = next((f.f_locals["self"] for f in frames if f.f_code.co_name == "__post_init__"), None)
    if not isinstance(made, TensorDescriptor) or not isinstance(made.base, torch.Tensor):
        return ""
    size = made.base.element_size()
    return misfit(made.base.data_ptr(), size, made.shape, made.strides, made.block_shape)


RULES = (
    kernel_called_directly,
    plain_function_launched,
    shape_used_as_number,
    method_not_called,
    unknown_meta_parameter,
    invalid_descriptor,
)
