"""Arguments of a launch that are neither tensors nor numbers."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from flashlearn.running.advice.error_context import ErrorContext


def neither_tensor_nor_number(context: ErrorContext) -> str:
    """A shape or None; other arguments that triton cannot take are refused by the launch itself."""
    if not isinstance(context.error, TypeError | AttributeError | ValueError):
        return ""
    for name in context.names_in(context.node):
        if (
            name.id in context.given
            and name.id in context.parameters
            and _still_the_argument(context, name.id)
        ):
            spoken = _what_it_is(name.id, context.given[name.id])
            if spoken:
                return spoken
    return ""


def _still_the_argument(context: ErrorContext, name: str) -> bool:
    """True if the operand is still the launch's argument: the kernel has not reassigned the name."""
    now, given = context.names.get(name), context.given[name]
    if now is not given and not isinstance(given, tuple):
        return False
    met = (*context.operands, *context.keywords.values())
    kinds = (tuple, tl.tuple) if isinstance(given, tuple) else type(given)
    return any(isinstance(value, kinds) for value in met)


def _what_it_is(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return (
            f"The launch passes a tuple for {name}, {_short(value)}, and this line uses it as "
            "one number. x.shape and x.stride() are tuples; one number is x.shape[0], x.stride(0), "
            "or x.numel() for all elements."
        )
    if value is None:
        return f"The launch passes None for {name}, and this line needs a number or a tensor."
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:38] + " …"


RULES = (neither_tensor_nor_number,)
