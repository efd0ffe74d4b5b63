"""A submission's process and the trusted one, both in this process: for many answers, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flashlearn.exercise import Exercise, Inputs
from flashlearn.processes.encoding import decode, encode
from flashlearn.running.answer import Here
from flashlearn.running.evidence import Evidence
from flashlearn.running.launcher_plan import LauncherPlan, record
from flashlearn.running.launcher_work import WorkOfTorch
from flashlearn.running.plan_replay import replayer
from flashlearn.running.run_modes import Observed, RunMode


class LocalChild:
    """Answers as flashlearn.classroom.sandbox.answer does, and sends nothing."""

    def __init__(self, function: Callable[..., Any], exercise: Exercise):
        self.here = Here(function, exercise)

    def facts(self) -> Any:
        return self.here.facts()

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return self.here.misfit(name, arguments)

    def sections(self) -> tuple:
        return self.here.sections()

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        return self.here.run(inputs, mode)

    def plan(self, inputs: Inputs, limit: float) -> LauncherPlan | str:
        try:
            return decode(encode(record(self.here._caller(), inputs, limit)))
        except Exception as error:  # a review calls for what has to be refused
            return str(error)

    def carry_out(self, plan: LauncherPlan, inputs: Inputs, mode: Observed) -> tuple[Evidence, WorkOfTorch]:
        replay = replayer(plan)
        return Here(replay).run(inputs, mode), replay.work.observation()
