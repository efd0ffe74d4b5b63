"""Advice on habits from Python, torch and NumPy that Triton rejects: what was written, why not, what instead.

    >>> kernel_words(error)                    # of z_ptr[offsets] = a * x + y
    '`z_ptr[offsets]`: in a kernel z_ptr is an address, not an array, so it cannot be indexed. …'

Each module has the rules of one family. A rule looks at the expression that raised, at its operands and at
the message, and returns nothing unless all three allow one interpretation only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from types import FrameType

from flashlearn.running.advice import (
    addresses,
    calls,
    foreign_functions,
    launch_arguments,
    launching,
    tile_shapes,
)
from flashlearn.running.advice.error_context import ErrorContext, error_context
from flashlearn.running.advice.gluon_words import in_own_language

IN_KERNELS = (
    *launch_arguments.RULES,
    *addresses.RULES,
    *tile_shapes.RULES,
    *foreign_functions.RULES,
    *calls.RULES,
)


def kernel_words(error: BaseException) -> str:
    """A sentence for what a kernel's line raised; empty if the cause is not certain."""
    return _first(IN_KERNELS, error, None)


def launcher_words(error: BaseException, frame: FrameType) -> str:
    """A sentence for what a launcher's line raised in `frame`; empty if the cause is not certain."""
    return _first(launching.RULES, error, frame)


def _first(
    rules: Iterable[Callable[[ErrorContext], str]], error: BaseException, frame: FrameType | None
) -> str:
    with contextlib.suppress(Exception):  # they look at a learner's objects, which may answer anything
        context = error_context(error, frame)
        for rule in rules if context is not None else ():
            with contextlib.suppress(Exception):
                if sentence := rule(context):
                    return in_own_language(sentence, context)
    return ""
