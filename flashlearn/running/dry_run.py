"""What a launcher would launch for inputs that are too large to be drawn, on a GPU that need not be here.

Where there is no GPU the launcher gets tensors without data. A forked process asks it, and takes with it what
the launcher keeps for its next call.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from flashlearn.exercise import Inputs
from flashlearn.interpreter.dry_run import planned
from flashlearn.machine import device
from flashlearn.observation import Launch, Observation
from flashlearn.processes.forked import Forked
from flashlearn.running.evidence import Evidence
from flashlearn.running.guard_zones import ZeroedWatch
from flashlearn.running.launches import RunCache, plain_launch
from flashlearn.running.run_modes import DryRun

if TYPE_CHECKING:
    from flashlearn.running.observed_run import Caller

PARTS = ("name", "grid", "signature", "constexprs", "job", "unshippable")
"""What is kept of a launch: enough to compile it."""


def plan(caller: Caller, inputs: Inputs, how: DryRun) -> Evidence:
    """The launches, as an observation; none where the launcher looks at data or raises."""

    if device.has_gpu():
        with contextlib.suppress(Exception), ZeroedWatch():
            return _evidence(_parts(caller, inputs, how))
        return Evidence()
    with contextlib.suppress(OSError), _asked(caller, inputs, how) as forked:
        for parts in forked.answers(patience=4 * how.limit):
            return _evidence(parts)
    return Evidence()


def _asked(caller: Caller, inputs: Inputs, how: DryRun) -> Forked:
    return Forked(lambda send: send(_parts(caller, inputs, how)), seconds=int(how.limit) + 1)


def _parts(caller: Caller, inputs: Inputs, how: DryRun) -> list[dict[str, Any]]:
    cache = RunCache()
    launches = planned(caller.call, dict(inputs), how.limit, fake=not device.has_gpu())
    plain = [plain_launch(one, cache) for one in launches]
    return [{part: getattr(one, part) for part in PARTS} for one in plain]


def _evidence(parts: list[dict[str, Any]]) -> Evidence:
    launches = [Launch(kernel=None, options={}, **{**one, "grid": tuple(one["grid"])}) for one in parts]
    return Evidence(observation=Observation(launches=launches))
