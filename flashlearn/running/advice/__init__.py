"""Habits from Python, torch and NumPy that Triton does not take: what was written, why not, what instead.

    >>> kernel_words(error)                    # of z_ptr[offsets] = a * x + y
    '`z_ptr[offsets]`: in a kernel z_ptr is an address and no array, so it takes no index. …'

Each module has the rules of one family. A rule looks at the expression that raised, at the values that met
there and at what was said, and answers with nothing unless all three leave one reading.
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
from flashlearn.running.advice.error_context import Slip, slip_of

IN_KERNELS = (
    *launch_arguments.RULES,
    *addresses.RULES,
    *tile_shapes.RULES,
    *foreign_functions.RULES,
    *calls.RULES,
)


def kernel_words(error: BaseException) -> str:
    """A sentence for what a kernel's line raised; nothing where its cause is not sure."""
    return _first(IN_KERNELS, error, None)


def launcher_words(error: BaseException, frame: FrameType) -> str:
    """A sentence for what a launcher's line raised in `frame`; nothing where its cause is not sure."""
    return _first(launching.RULES, error, frame)


def _first(rules: Iterable[Callable[[Slip], str]], error: BaseException, frame: FrameType | None) -> str:
    with contextlib.suppress(Exception):  # they look at a learner's objects, which may answer anything
        slip = slip_of(error, frame)
        for rule in rules if slip is not None else ():
            with contextlib.suppress(Exception):
                if said := rule(slip):
                    return said
    return ""
