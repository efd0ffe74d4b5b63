"""What the launch handed to a kernel that is neither a tensor nor a number."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from flashlearn.running.advice.error_context import Slip


def neither_tensor_nor_number(slip: Slip) -> str:
    """A shape, or None: what else triton cannot take, the launch itself refuses."""
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
    if value is None:
        return f"The launch hands over None for {name}, and this line wants a number or a tensor."
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:38] + " …"


RULES = (neither_tensor_nor_number,)
