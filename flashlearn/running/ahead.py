"""What a launcher would launch for inputs that are too large to be drawn, on a GPU that need not be here.

Where there is no GPU the launcher gets fake tensors. Torch ends the whole process if autograd meets one; so a
forked process asks the launcher, and takes that with it, and whatever the launcher keeps for its next call.
"""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from flashlearn.compiler.forked import Forked
from flashlearn.exercise import Inputs
from flashlearn.interpreter.observation import Launch, Observation
from flashlearn.interpreter.planned import planned
from flashlearn.machine import device
from flashlearn.running.circumstances import Planned
from flashlearn.running.evidence import Evidence
from flashlearn.running.guards import ZeroedWatch
from flashlearn.running.launches import Notebook, plain_launch

if TYPE_CHECKING:
    from flashlearn.running.observed import Caller

PARTS = ("name", "grid", "signature", "constexprs", "job", "unshippable")
"""What is told of a launch: enough to compile it."""


def plan(caller: Caller, inputs: Inputs, how: Planned) -> Evidence:
    """The launches, as an observation; none where the launcher looks at data or raises."""

    def work(send: Callable[[Any], None]) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        send(_parts(caller, inputs, how))

    if device.has_gpu():
        with contextlib.suppress(Exception), ZeroedWatch():
            return _evidence(_parts(caller, inputs, how))
        return Evidence()
    with contextlib.suppress(OSError), Forked(work, seconds=int(how.limit) + 1) as forked:
        for parts in forked.answers(patience=4 * how.limit):
            return _evidence(parts)
    return Evidence()


def _parts(caller: Caller, inputs: Inputs, how: Planned) -> list[dict[str, Any]]:
    notebook = Notebook()
    with torch.no_grad():
        launches = planned(caller.call, dict(inputs), how.limit, fake=not device.has_gpu())
    plain = [plain_launch(one, notebook) for one in launches]
    return [{part: getattr(one, part) for part in PARTS} for one in plain]


def _evidence(parts: list[dict[str, Any]]) -> Evidence:
    launches = [Launch(kernel=None, options={}, **{**one, "grid": tuple(one["grid"])}) for one in parts]
    return Evidence(observation=Observation(launches=launches))
