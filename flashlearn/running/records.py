"""Registers the grader's records that may be sent between processes."""

from __future__ import annotations

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.interpreter import observation, shadow
from flashlearn.interpreter.gluon.timeline import TimelineEvent
from flashlearn.interpreter.observers import access_recorder, assigned_values, nan_origin
from flashlearn.machine.device import GPU
from flashlearn.machine.timers import Measurement
from flashlearn.outcome import Caution, Place, Status
from flashlearn.processes.encoding import register
from flashlearn.running import answer, answer_source, evidence, run_modes

register(
    *(GPU, Caution, Place, Status, answer.Facts, shadow.View),
    *(run_modes.PlainCall, run_modes.Observed, run_modes.Int32OverflowProbe, run_modes.Traced),
    *(run_modes.Compiled, run_modes.Timed, run_modes.FrontEndCheck, run_modes.DryRun),
    *(run_modes.Edited, answer_source.Section, FrontEndRefusal),
    *(evidence.Evidence, evidence.Output, evidence.Raised, evidence.ObservedRace, evidence.Foreign),
    *(observation.Launch, observation.Observation, observation.Traffic, TimelineEvent),
    *(nan_origin.Birth, nan_origin.Births, assigned_values.Event, assigned_values.Site),
    *(
        access_recorder.Recording,
        access_recorder.LaunchRecord,
        access_recorder.ProgramRecord,
        access_recorder.AccessRecord,
    ),
    *(access_recorder.AccessRecord, access_recorder.Tally, Measurement),
)
