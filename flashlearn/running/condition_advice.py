"""What a tensor does in a condition: a parameter of that name may have got another argument."""

from __future__ import annotations

import re
from types import FrameType

from flashlearn.later import types_of

CONDITION = re.compile(r"\b(?:if|while|and|or|not) +(\w+)(?= +else\b| +and\b| +or\b| *[:)\]]|$)")


def tensor_as_condition(frame: FrameType | None, line: str) -> str:
    """A sentence on a parameter that a line asks for a truth value, where it is a tensor of many numbers."""
    if frame is None:
        return ""
    code = frame.f_code
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in CONDITION.findall(line):
        value = frame.f_locals.get(name)
        if name in given and isinstance(value, types_of("torch", "Tensor")) and value.numel() > 1:
            return (
                f"{name}, a parameter of {code.co_name}, is a tensor of shape {list(value.shape)} here: are "
                "the arguments passed in the order of the parameters?"
            )
    return ""
