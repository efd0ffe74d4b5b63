"""How fast a passing kernel is: measured against a peer on a GPU, predicted from counts without one.

    >>> measure(exercise, softmax_forward).ratio        # on a GPU: speed relative to the peer, 1.0 is as fast
    0.97
    >>> predict(exercise, inputs, observation).predictions["H100"]      # without one: seconds, at best
    4.0e-05

A prediction is the roofline's: no kernel that moves these bytes and computes these operations takes less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from flashlearn.exercise import Case, Exercise, Inputs, Work
from flashlearn.interpreter.modes import LightMode
from flashlearn.interpreter.observation import Observation
from flashlearn.machine import device
from flashlearn.running.answer import Answer, answering
from flashlearn.running.circumstances import Timed

SHORTEST = 1e-6
"""Predictions below this many seconds are left out: launching a kernel alone takes longer."""


@dataclass(frozen=True)
class Timing:
    """One call's time, measured or predicted. What is not known is None.

    `where` names the GPU that measured, or the case that a prediction is for. `milliseconds` and
    `peer_milliseconds` are medians; `ratio` is the speed relative to the peer, above 1 where the learner is
    faster. `bytes` and `operations` are the least that a call can do with where measured; where predicted,
    the observer's counts (each byte once), scaled up to the case. `least_bytes` is the least in both.
    `predictions` are seconds by GPU name. `peak_bytes` is what a call allocates at its peak beyond its
    inputs.
    """

    where: str
    measured: bool
    milliseconds: float | None = None
    peer: str = ""
    peer_milliseconds: float | None = None
    ratio: float | None = None
    bytes: float | None = None
    operations: float | None = None
    predictions: Mapping[str, float] = field(default_factory=dict)
    least_bytes: float | None = None
    peak_bytes: int | None = None
    peer_peak_bytes: int | None = None


def measure(exercise: Exercise, answer: Answer | Callable[..., Any]) -> Timing:
    """Median times of the learner's launcher and of the exercise's peer, taken in turns on this GPU.

    Both run on `exercise.timed.case`; in turns, since a GPU's clock changes while it works. Raises
    `ValueError` if the exercise names no case for timing.
    """
    case = exercise.timed.case
    if case is None:
        raise ValueError(f"{exercise.name} has no timed.case: there is nothing to time it on.")
    inputs = exercise.inputs(case, case.generator())
    evidence = answering(exercise, answer).run(inputs, Timed())
    own, peer = (*evidence.milliseconds, None)[:2]
    peaks = evidence.peaks
    work = exercise.judged.work(inputs) if exercise.judged.work else None
    return Timing(
        where=torch.cuda.get_device_name() if device.has_gpu() else "this processor",
        measured=True,
        milliseconds=own,
        peer=exercise.timed.peer_name,
        peer_milliseconds=peer,
        ratio=peer / own if peer else None,
        bytes=work.bytes if work else None,
        operations=work.operations if work else None,
        least_bytes=work.bytes if work else None,
        peak_bytes=peaks[0],
        peer_peak_bytes=peaks[1] if exercise.timed.peer else None,
    )


def predict(exercise: Exercise, case_inputs: Inputs, observation: Observation) -> Timing:
    """What the bytes and operations that were counted would take on three GPUs, at best.

    Observed cases are small, so the counts are scaled up to `exercise.timed.case` in proportion to the least
    work of both; without such a case they are taken as they are. Every byte counts once, as if caches were
    perfect, and products count at the tensor cores' rate for fp16 and bf16.
    """
    products = observation.operations.get("dot", 0)
    others = observation.total_operations - products
    moved = observation.bytes_unique
    least = exercise.judged.work(case_inputs) if exercise.judged.work else None
    where, half, larger = _shapes(case_inputs), _is_half(case_inputs), None
    if least and exercise.timed.case and (inputs := _without_data(exercise, exercise.timed.case)):
        where, half, larger = exercise.timed.case.name, _is_half(inputs), exercise.judged.work(inputs)
        grown = larger.operations / least.operations if least.operations else larger.bytes / least.bytes
        products, others, moved = products * grown, others * grown, moved * larger.bytes / least.bytes
    seconds = {name: _at_best(gpu, products, others, moved, half) for name, gpu in device.GPUS.items()}
    return Timing(
        where=where,
        measured=False,
        bytes=moved,
        operations=products + others,
        predictions=seconds if max(seconds.values()) >= SHORTEST else {},
        least_bytes=_bytes(larger or least),
    )


def padding(exercise: Exercise, case_inputs: Inputs, observation: Observation) -> tuple[float, int]:
    """Orders observed cases by what to scale up: first the one whose operations are nearest to the least.

    The lanes that a mask switches off are counted, and in a case smaller than a tile they are most of it: a
    prediction from there would be no lower bound. Of equals, the case that asks for most bytes comes first.
    """
    least = exercise.judged.work(case_inputs) if exercise.judged.work and exercise.timed.case else None
    if not least:
        return 0.0, -observation.bytes_requested
    beyond = observation.total_operations / least.operations if least.operations else math.inf
    return round(beyond, 2), -observation.bytes_requested


def _at_best(gpu: device.GPU, products: float, others: float, moved: float, half: bool) -> float:
    """Seconds by the roofline, where what is no product never runs on tensor cores."""
    arithmetic = device.attainable(gpu, products, 0, half) + device.attainable(gpu, others, 0, half=False)
    return max(device.attainable(gpu, 0, moved, half), arithmetic)


class _ShapesOnly(LightMode):
    """Tensors made under it have a shape and a dtype and no data, whatever their size; numbers read as 1."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            return 1.0
        kwargs = {name: value for name, value in (kwargs or {}).items() if name != "generator"}
        takes = {argument.name for argument in func._schema.arguments}
        if "generator" in takes:
            kwargs["generator"] = None
        if "device" in takes and not any(isinstance(value, torch.Tensor) for value in args):
            kwargs["device"] = torch.device("meta")
        return func(*args, **kwargs)


def _without_data(exercise: Exercise, case: Case) -> Inputs | None:
    """A case's inputs as shapes alone; None if they cannot be drawn without looking at data."""
    try:
        with _ShapesOnly():
            return exercise.inputs(case, case.generator())
    except (NotImplementedError, RuntimeError):
        return None


def _shapes(inputs: Inputs) -> str:
    return ", ".join(
        (f"{name} of shape {list(value.shape)}" if value.ndim else f"one number {name}")
        + f" in {str(value.dtype).removeprefix('torch.')}"
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor)
    )


def _is_half(inputs: Inputs) -> bool:
    kinds = [v.dtype for v in inputs.values() if isinstance(v, torch.Tensor) and v.is_floating_point()]
    return bool(kinds) and kinds[0].itemsize <= 2


def _bytes(work: Work | None) -> float | None:
    return work.bytes if work else None
