"""The records of the grader that may travel between processes."""

from __future__ import annotations

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.interpreter import nan_origin, observation, recorder, shadow, values
from flashlearn.interpreter.gluon.timeline import TimelineEvent
from flashlearn.machine.device import GPU
from flashlearn.machine.stopwatch import Measured
from flashlearn.outcome import Caution, Place, Status
from flashlearn.running import answer, circumstances, edited, evidence
from flashlearn.running.encoding import register

register(
    *(GPU, Caution, Place, Status, answer.Facts, shadow.View),
    *(circumstances.Called, circumstances.Observed, circumstances.Far, circumstances.Traced),
    *(circumstances.Compiled, circumstances.Timed, circumstances.Lowered, circumstances.Planned),
    *(circumstances.Edited, edited.Section, FrontEndRefusal),
    *(evidence.Evidence, evidence.Output, evidence.Raised, evidence.SeenRace, evidence.Foreign),
    *(observation.Launch, observation.Observation, observation.Traffic, TimelineEvent),
    *(nan_origin.Birth, nan_origin.Births, values.Event, values.Site),
    *(recorder.Recording, recorder.LaunchRecord, recorder.ProgramRecord, recorder.AccessRecord),
    *(recorder.Tally, Measured),
)
