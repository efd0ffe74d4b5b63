"""How fast a passing kernel is: measured against a peer on a GPU, else predicted from the least work.

    >>> measure(exercise, softmax_forward).ratio        # on a GPU: speed relative to the peer, 1.0 is as fast
    0.97
    >>> predict(exercise, case, inputs, observation).predictions["H100"]      # without one: seconds, at best
    4.0e-05

A prediction is the roofline bound for the least work that computes the result: no kernel can be faster.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from flashlearn.exercise import Case, Exercise, Grade, HowTimed, Inputs, Kind
from flashlearn.judging import draws, gpu_fit
from flashlearn.judging.smaller_cases import difference, smaller_cases
from flashlearn.machine import device, memory
from flashlearn.machine.ceilings import Ceilings, ceilings
from flashlearn.machine.timers import Measurement
from flashlearn.observation import Launch, Observation
from flashlearn.running.answer import Answer, answering
from flashlearn.running.run_modes import DryRun, Timed

MIN_SECONDS = 1e-6
"""Predictions below this many seconds are left out: launching a kernel alone takes longer."""


@dataclass(frozen=True)
class Mark:
    """A grade for speed, and the learner's speed relative to the grade's peer in the same run."""

    grade: Grade
    ratio: float

    @property
    def reached(self) -> bool:
        """Whether the learner's speed earns the grade."""
        return self.ratio >= self.grade.ratio


@dataclass(frozen=True)
class Counted:
    """The bytes that an observed run moved in a case, each counted once, and the least that any kernel moves.

    They are not scaled up to other sizes: there a kernel may take other steps, and mask fewer lanes.
    """

    case: Case
    bytes: float
    least_bytes: float | None


@dataclass(frozen=True)
class Timing:
    """One call's time, measured or predicted. Unknown values are None.

    `where` names the GPU that measured, or the case that a prediction is for. `own` is the learner's
    measurement, `peers` are those of the available peers, the exercise's first one first; `ratio` is the
    speed relative to that one, above 1 if the learner is faster. `marks` are the grades for speed that could
    be tested here. `reached` is what this GPU reaches with a large product and a large copy. `least_bytes`
    and `least_operations` are the minimum for any kernel, and `predictions`, in seconds by GPU name, the time
    that these take. `bytes` and `operations` are the same if measured. If predicted, `counted` is what the
    observer counted in a case. `half` says that the inputs are in half precision. `case` is the one that was
    timed; `smaller` says why, if it is not the usual one.
    """

    where: str
    measured: bool
    own: Measurement | None = None
    peers: Mapping[str, Measurement] = field(default_factory=dict)
    ratio: float | None = None
    marks: tuple[Mark, ...] = ()
    reached: Ceilings | None = None
    bytes: float | None = None
    operations: float | None = None
    predictions: Mapping[str, float] = field(default_factory=dict)
    least_bytes: float | None = None
    least_operations: float | None = None
    counted: Counted | None = None
    half: bool = False
    case: Case | None = None
    smaller: str = ""

    @property
    def peer(self) -> str:
        """The name of the peer that `ratio` refers to; empty if there is none."""
        return next(iter(self.peers), "")


def measure(exercise: Exercise, answer: Answer | Callable[..., Any]) -> Timing:
    """Median times of the learner's launcher and of the exercise's peers, taken in turns on this GPU.

    Both run on `exercise.timed.case`, or on a smaller one where the memory is too small for that; in turns,
    since a GPU's clock changes while it works. Raises `ValueError` if the exercise names no case for timing,
    and NotTimed if the launcher, which passes its cases, does not run there.
    """
    asked = exercise.timed.case
    if asked is None:
        raise ValueError(f"{exercise.name} has no timed.case: there is nothing to time it on.")
    free = 0
    for case in itertools.chain([asked], smaller_cases(asked)):
        if (timing := _measured(exercise, answering(exercise, answer), case)) is not None:
            return timing if case is asked else replace(timing, smaller=_smaller(case, asked, free))
        free = free or _free_memory()
    raise NotTimed(
        f"Not timed: this GPU has {memory.in_gib(free)} of free memory, which is too small for {asked.name}."
    )


_readied: set[int] = set()
"""Exercises whose peers have run here."""


def ready_peers(exercise: Exercise, answer: Answer) -> None:
    """Call once what the answer will be timed beside: libraries take seconds for their first call."""
    case = exercise.timed.case
    if case is None or id(exercise) in _readied or not device.has_gpu():
        return
    _readied.add(id(exercise))
    inputs, fits = memory.attempt(lambda: draws.inputs(exercise, case))
    if fits:
        answer.ready_peers(inputs)


class NotTimed(Exception):
    """A call could not be timed; the message says why, in a sentence."""


def _free_memory() -> int:
    return memory.free_memory() if device.has_gpu() else 0


def _measured(exercise: Exercise, answer: Answer, case: Case) -> Timing | None:
    """The times in one case; None if there is too little memory for it."""
    inputs, fits = memory.attempt(lambda: draws.inputs(exercise, case))
    if not fits:
        return None
    evidence = answer.run(inputs, Timed())
    if evidence.raised is not None:
        if evidence.raised.kind == "OutOfMemoryError":
            memory.release()
            return None
        if (too_large := gpu_fit.raised(case, evidence)) is not None:
            raise NotTimed(f"Not timed. {too_large.caution.sentence}")
        raise NotTimed(f"Not timed: in {case.name} it failed. {evidence.raised.sentence}")
    own, peers = evidence.own, evidence.peers
    first = next(iter(peers.values()), None)
    work = exercise.judged.work(inputs) if exercise.judged.work else None
    return Timing(
        where=torch.cuda.get_device_name() if device.has_gpu() else "this processor",
        measured=True,
        case=case,
        own=own,
        peers=peers,
        ratio=first.median / own.median if first else None,
        marks=marks(exercise.timed, own, peers),
        reached=_reached(),
        bytes=work.bytes if work else None,
        operations=work.operations if work else None,
        least_bytes=work.bytes if work else None,
        least_operations=work.operations if work else None,
        half=_is_half(inputs),
    )


def _smaller(case: Case, asked: Case, free: int) -> str:
    """Why a smaller case than usual was timed."""
    small, usual = difference(case, asked)
    return f"Timed at {small} instead of {usual}: this GPU has {memory.in_gib(free)} of free memory."


def _reached() -> Ceilings | None:
    """What this GPU reaches; None without one, or if there is no memory to find out."""
    return memory.attempt(ceilings)[0] if device.has_gpu() else None


def marks(timed: HowTimed, own: Measurement, peers: Mapping[str, Measurement]) -> tuple[Mark, ...]:
    """Each grade whose peer was timed, with the learner's speed relative to it."""
    return tuple(
        Mark(grade, peers[grade.peer].median / own.median) for grade in timed.grades if grade.peer in peers
    )


def predict(exercise: Exercise, case: Case, case_inputs: Inputs, observation: Observation) -> Timing:
    """The roofline time of `exercise.timed.case` on GPUs that run it, and what was counted in `case`.

    Without a case for timing there is no time.
    """
    least = exercise.judged.work(case_inputs) if exercise.judged.work else None
    inputs = draws.without_data(exercise, exercise.timed.case) if least and exercise.timed.case else None
    counted = Counted(case, float(observation.bytes_unique), least.bytes if least else None)
    if inputs is None:
        return Timing(_shapes(case_inputs), False, counted=counted)
    larger, half = exercise.judged.work(inputs), _is_half(inputs)
    eight = _size(inputs) == 1
    oldest = max(exercise.judged.needs, device.FP8_MIN_TARGET if eight else 0)
    seconds = {
        name: device.attainable(gpu, larger.operations, larger.bytes, half, eight)
        for name, gpu in device.GPUS.items()
        if gpu.target >= oldest
    }
    return Timing(
        where=exercise.timed.case.name,
        measured=False,
        predictions=seconds if max(seconds.values()) >= MIN_SECONDS else {},
        least_bytes=larger.bytes,
        least_operations=larger.operations,
        counted=counted,
        half=half,
    )


def launches(exercise: Exercise, answer: Answer) -> list[Launch]:
    """The launches that the answer would make in the case for timing; empty if that cannot be determined."""
    case = exercise.timed.case
    if exercise.kind is not Kind.KERNEL or case is None:
        return []
    if device.has_gpu():
        inputs, _ = memory.attempt(lambda: draws.inputs(exercise, case))
    else:
        inputs = draws.without_data(exercise, case)
    observation = answer.run(inputs, DryRun()).observation if inputs is not None else None
    return observation.launches if observation is not None else []


def padding(exercise: Exercise, case_inputs: Inputs, observation: Observation) -> tuple[float, int]:
    """A sort key for observed cases: what is counted in the one with the least padding is reported.

    Lanes that a mask switches off are counted, and in a case smaller than a tile they are the majority.
    Among equals, the case that requests the most bytes comes first.
    """
    least = exercise.judged.work(case_inputs) if exercise.judged.work and exercise.timed.case else None
    if not least:
        return 0.0, -observation.bytes_requested
    beyond = observation.total_operations / least.operations if least.operations else math.inf
    return round(beyond, 2), -observation.bytes_requested


def _shapes(inputs: Inputs) -> str:
    return ", ".join(
        (f"{name} of shape {list(value.shape)}" if value.ndim else f"one number {name}")
        + f" in {str(value.dtype).removeprefix('torch.')}"
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor)
    )


def _is_half(inputs: Inputs) -> bool:
    return _size(inputs) == 2


def _size(inputs: Inputs) -> int:
    """Bytes per element of the first floating-point tensor; 0 if there is none."""
    kinds = [v.dtype for v in inputs.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return kinds[0].itemsize if kinds else 0
