"""Do a launcher's blocks fit the shared memory of GPUs that need not be here? Asked beside the observed run.

    >>> with Fitting(caller, draws) as fitting:      # draws: functions that give a case's inputs
    ...     fitting.found()
    (Need(kernel="flash_kernel", draw=3, needed={80: 294912, …}, constants={"BLOCK_Q": 64, …}),)

A forked process plans every launch as on a GPU, and asks Triton's compiler how much memory the blocks need,
those of the largest launch of each kernel. What goes wrong there decides nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from flashlearn.compiler.shared_memory import bound, needed
from flashlearn.exercise import Inputs
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.specialization import Specialization, is_gluon
from flashlearn.machine.device import SHARED_PER_BLOCK
from flashlearn.observation import Launch
from flashlearn.processes.forked import Forked, Send
from flashlearn.running.caller import Caller

SECONDS = 5
"""So much of a processor the planning and the compiler may take."""
WAIT_SECONDS = 20.0
PLAN = 2.0  # seconds for one call of the launcher, which launches nothing
ASKED = {90: (90,), 89: (80, 86, 89), 120: (120,)}
"""Compute capabilities that the compiler is asked for, and those that its answer holds for."""

MOST_KNOWN = 1000
_known: dict[str, dict[int, int]] = {}
"""What the compiler said before, by `Specialization.text_key`: a forked process inherits it."""

_log = logging.getLogger("flashlearn.fitting")


@dataclass(frozen=True)
class Need:
    """A kernel whose blocks need more shared memory than they can have: of some GPU, or of every one.

    `draw` is the number of the draw that it was seen in, `needed` are bytes by compute capability.
    """

    kernel: str
    draw: int
    needed: Mapping[int, int]
    constants: Mapping[str, int]


@dataclass(frozen=True)
class Drawing:
    """How a case's inputs are made, shapes sufficing; `everywhere` says whether every GPU has to run it."""

    inputs: Callable[[], Inputs | None]
    everywhere: bool = True


class Fitting:
    """The process at work on some draws. To be closed, or used as a context manager."""

    def __init__(self, caller: Caller, draws: Sequence[Drawing]):
        self._forked: Forked | None = None
        with contextlib.suppress(OSError):
            self._forked = Forked(lambda send: _work(caller, draws, send), SECONDS)

    def found(self) -> tuple[Need, ...]:
        """Waits for the answer: for each kernel that does not fit the launch that needs most."""
        answers = list(self._forked.answers(WAIT_SECONDS)) if self._forked is not None else []
        found = []
        for one in answers:
            there = {int(target): size for target, size in one["needed"].items()}
            if one["key"]:
                _known[one["key"]] = there
            if there:
                found.append(Need(one["kernel"], one["draw"], there, one["constants"]))
        while len(_known) > MOST_KNOWN:
            _known.pop(next(iter(_known)))
        return tuple(found)

    def close(self) -> None:
        """End the process."""
        if self._forked is not None:
            self._forked.close()

    def __enter__(self) -> Fitting:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _work(caller: Caller, draws: Sequence[Drawing], send: Send) -> None:
    """In the forked process."""
    os.environ.pop("TRITON_INTERPRET", None)
    torch.cuda.is_available = lambda: False  # CUDA cannot be used in a fork
    _without_dynamo()
    seen: dict[tuple, tuple[int, Launch]] = {}
    for number, drawing in enumerate(draws):
        for launch in _plan(caller, drawing):
            if launch.specialised is not None:
                key = (launch.specialised.key, drawing.everywhere)
                seen.setdefault(key, (number, launch))
    largest: dict[tuple, tuple[int, Launch]] = {}
    for number, launch in sorted(seen.values(), key=lambda one: extent(one[1]), reverse=True):
        largest.setdefault((id(launch.specialised.kernel), draws[number].everywhere), (number, launch))
    for number, launch in largest.values():
        everywhere = draws[number].everywhere
        text = launch.specialised.text_key
        key = f"{text} {everywhere}" if text else ""
        bytes_there = _known[key] if key in _known else beyond(launch.specialised, everywhere)
        what = {"key": key, "kernel": launch.name, "draw": number, "needed": bytes_there}
        send(what | {"constants": sizes(launch)})


def _without_dynamo() -> None:
    """Keep torch's operations on "meta" from importing its compiler only to be exempt from it.

    That takes a second or two in every forked process, as long as this process has not imported it.
    """
    if "torch._dynamo" not in sys.modules:
        stub = types.ModuleType("torch._dynamo")
        stub.disable = lambda function, *_more, **_options: function
        sys.modules["torch._dynamo"] = torch._dynamo = stub


def _plan(caller: Caller, drawing: Drawing) -> list[Launch]:
    """What the launcher launches on a GPU; empty if it looks at data, or raises."""
    try:
        given = drawing.inputs()
        return planned(caller.call, dict(given), PLAN) if given is not None else []
    except BaseException:
        return []


def beyond(launch: Specialization, everywhere: bool = True) -> dict[int, int]:
    """Bytes by compute capability of a launch that some GPU cannot start; empty if every one can.

    If it need not start `everywhere`, empty as well if one of them can.
    """
    if is_gluon(launch.kernel):
        return {}
    limits = SHARED_PER_BLOCK.values()
    if bound(launch) <= (min(limits) if everywhere else max(limits)):
        return {}
    found: dict[int, int] = {}
    for target, holds_for in ASKED.items():
        try:
            asked = needed(launch, target)
        except Exception as error:  # fp8 on an older GPU, say: other stages report that
            _log.info("sm_%s: %s: %s", target, type(error).__name__, error)
            continue
        if asked is None or (not everywhere and asked <= SHARED_PER_BLOCK[target]):
            return {}
        found |= dict.fromkeys(holds_for, asked)
    return found if any(one > SHARED_PER_BLOCK[target] for target, one in found.items()) else {}


def extent(launch: Launch) -> float:
    """A measure for how much memory the blocks of a launch take, among launches of one kernel."""
    specialised = launch.specialised
    product = float(max(specialised.options.num_stages, 1))
    for value in sizes(launch, options=False).values():
        product *= value
    first = next((str(kind) for kind in specialised.signature.values() if str(kind)[:1] in "*t"), "")
    return product * (4 if "32" in first else 2 if "16" in first else 1)


def sizes(launch: Launch, options: bool = True) -> dict[str, Any]:
    """A launch's constants that may be sizes of blocks, and its stages."""
    found = {
        name: value
        for name, value in launch.constexprs.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 1
    }
    return found | ({"num_stages": launch.specialised.options.num_stages} if options else {})
