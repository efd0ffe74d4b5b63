"""The modes in which a learner's function is run: plain data, and every question that is asked of it.

    >>> answer.run(inputs, Observed(seed=3, undefined=0.0))     # what if hidden lanes held zeros?

Every kind is frozen and can be sent to another process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.interpreter.observer import Observer
from flashlearn.running.counted_turns import MOST_TURNS

LIMIT = 20.0
"""Seconds that a call may take by default."""


@dataclass(frozen=True)
class PlainCall:
    """As it is: nothing is observed. `autograd` says whether it is on, or is left as it is with None.

    "inference" is torch's inference mode, in which it cannot be switched on again. With `saved` it is noted
    whether anything was kept for a backward pass, with `torch_nan` where torch made the first NaN.
    """

    limit: float = LIMIT
    autograd: bool | str | None = None
    saved: bool = False
    torch_nan: bool = False


@dataclass(frozen=True)
class Observed:
    """In the observed interpreter, on the CPU.

    `seed` shuffles the order of the programs (None: the grid's order). `undefined` fills the lanes that a
    mask hides from a load without `other=`, `fresh` the memory of torch.empty. Each of `observers` watches by
    a copy of its own, and what it saw is in the evidence's `observations`. With `full_precision` values of
    half precision keep fp32's digits until they are stored, all of them or those that its lines compute, and
    the lines that would round are among the observation's warnings. `autograd` is as for `PlainCall`. With
    `direct` the function is called plainly, whatever way of calling it its exercise has.
    """

    seed: int | None = None
    undefined: float = math.nan
    fresh: float = math.nan
    observers: tuple[Observer, ...] = ()
    full_precision: bool | tuple[int, ...] = False
    direct: bool = False
    limit: float = LIMIT
    autograd: bool | None = None


@dataclass(frozen=True)
class Edited:
    """In the observed interpreter, with another text in place of one of its sections: what comes out then?

    `section` counts those of flashlearn.running.answer_source; `more` are other sections, each with its text.
    The evidence has the outputs, or that something was raised. An edit may make a loop that never ends: the
    call ends after `most` accesses to memory, the same on every machine; `limit` is for loops without any,
    and a formula without kernels ends after so many `turns` of its `while` loops.
    An answer that launches no kernel need not be `watched`: that saves half the time.
    """

    section: int
    text: str
    seed: int | None = None
    most: int = 12_000
    more: tuple[tuple[int, str], ...] = ()
    limit: float = 2.0
    watched: bool = True
    turns: int = MOST_TURNS


@dataclass(frozen=True)
class Rewritten:
    """As `how` says, with other texts in place of some sections, each by its number as in `Edited`.

    The lines of what is observed are those of the learner's file, if every text has as many as its section.
    """

    texts: tuple[tuple[int, str], ...]
    how: PlainCall | Observed

    @property
    def limit(self) -> float:
        """Seconds that the call may take."""
        return self.how.limit


@dataclass(frozen=True)
class Int32OverflowProbe:
    """With tensors that have no memory (device "meta"), the first and the last program of each launch.

    Addresses are computed and checked, nothing is loaded. With `wide` integer arguments have 64 bits.
    """

    wide: bool = False
    limit: float = 5.0


@dataclass(frozen=True)
class DryRun:
    """On a GPU that need not be here: what it would launch. Nothing runs.

    Where there is none, inputs are tensors without memory (device "meta"), and say that they are on a GPU.
    """

    limit: float = 5.0


@dataclass(frozen=True)
class Traced:
    """Observed, with every access of one program kept: a number, its indices, or None for the middle one."""

    program: int | Sequence[int] | None = None
    limit: float = 60.0


@dataclass(frozen=True)
class Compiled:
    """Compiled, on the GPU: inputs and outputs between guard zones, fresh memory full of NaN."""

    limit: float = LIMIT


@dataclass(frozen=True)
class Timed:
    """Compiled and timed on the GPU, in turns with the exercise's peers."""


@dataclass(frozen=True)
class FrontEndCheck:
    """Not at all: triton's front end looks at the kernels that the runs so far have launched.

    It begins when first asked, in a process beside this one; with `wait` the evidence has what it refuses.
    """

    wait: bool = True
    limit: float = LIMIT


RunMode = (
    PlainCall
    | Observed
    | Edited
    | Rewritten
    | Int32OverflowProbe
    | DryRun
    | Traced
    | Compiled
    | Timed
    | FrontEndCheck
)
