"""Registers the grader's records that may be sent between processes.

What observers see travels too: a module in flashlearn.interpreter.observers lists in `RECORDS` its observer
and the classes that the observation consists of, and is found here by itself.
"""

from __future__ import annotations

import importlib
import pkgutil

from flashlearn import observation
from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.interpreter import observers, shadow
from flashlearn.interpreter.instrumentation import Site
from flashlearn.interpreter.torch_nan import TorchNanOrigin
from flashlearn.machine.device import GPU
from flashlearn.machine.timers import Measurement
from flashlearn.outcome import Caution, Place, Status
from flashlearn.processes.encoding import register
from flashlearn.running import answer, answer_source, evidence, run_modes

register(
    *(GPU, Caution, Place, Status, answer.Facts, shadow.View, Site, TorchNanOrigin),
    *(run_modes.PlainCall, run_modes.Observed, run_modes.Int32OverflowProbe, run_modes.Traced),
    *(run_modes.Compiled, run_modes.Timed, run_modes.FrontEndCheck, run_modes.DryRun),
    *(run_modes.Edited, run_modes.Rewritten, answer_source.Section, FrontEndRefusal, Measurement),
    *(evidence.Evidence, evidence.Output, evidence.Raised, evidence.ObservedRace, evidence.Foreign),
    *(observation.Launch, observation.Observation, observation.Traffic, observation.TimelineEvent),
)
for module in pkgutil.iter_modules(observers.__path__, f"{observers.__name__}."):
    register(*getattr(importlib.import_module(module.name), "RECORDS", ()))
