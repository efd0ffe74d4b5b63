"""A case's inputs, drawn where they are needed: on the CPU, on the GPU, or as shapes without data.

    >>> inputs = without_data(exercise, exercise.timed.case)          # on "meta": any size, at no cost
    >>> inputs["q"].shape
    torch.Size([32, 8, 1024, 64])

Exercises draw on the CPU, so that a case is the same everywhere. Large cases that only run on a GPU are drawn
there, from the same seed: computing with their numbers would take seconds on a CPU.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from flashlearn.exercise import Case, Exercise, Inputs
from flashlearn.interpreter.dispatch_mode import LightDispatchMode
from flashlearn.judging.tolerance import Roundings, Truth
from flashlearn.later import torch
from flashlearn.machine import device, memory

CACHED_EXERCISES = 4
"""Number of exercises whose draws are cached."""
REMEMBERED_ROUNDINGS = 500
"""Number of cases for which it is remembered what rounding costs."""


@dataclass(frozen=True)
class Draw:
    """The inputs of one case, and the right outputs for them."""

    inputs: Inputs
    truth: Truth


class Draws:
    """The draws of an exercise's cases, each made at its first use.

    The draws of observed cases are cached for the next check of the exercise.
    """

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        self._inputs: dict[int, Inputs] = {}
        self._truths: dict[tuple[int, bool], Truth] = {}

    def inputs(self, case: Case) -> Inputs:
        """The inputs of one of the exercise's cases."""
        if (kept := _cached(self.exercise, case)) is not None:
            return kept.inputs
        if id(case) not in self._inputs:
            self._inputs[id(case)] = inputs(self.exercise, case)
        return self._inputs[id(case)]

    def of(self, case: Case, tf32: bool = False) -> Draw:
        """Inputs and truth of a case. With `tf32`, torch's products in TF32 are right as well."""
        if not tf32 and (kept := _cached(self.exercise, case)) is not None:
            return kept
        given, key = self.inputs(case), (id(case), tf32)
        if key not in self._truths:
            self._truths[key] = truth = Truth(
                self.exercise, given, tf32, _known_roundings(self.exercise, *key)
            )
            if case.gpu:
                _remember_roundings(self.exercise, *key, truth.roundings())
        return Draw(given, self._truths[key])

    def learn_roundings(self, tf32: bool = False) -> None:
        """Find out now what rounding costs torch in the cases that only run on a GPU.

        Those are the slowest references, and they are the same in each check. Nothing else is kept.
        """
        for case in self.exercise.cases:
            if case.gpu and case.compiled and _known_roundings(self.exercise, id(case), tf32) is None:
                memory.attempt(functools.partial(self.of, case, tf32))
                self.forget(case)

    def forget(self, case: Case) -> None:
        """Drop a case's draw: a large one fills a GPU's memory."""
        self._inputs.pop(id(case), None)
        for tf32 in (False, True):
            self._truths.pop((id(case), tf32), None)


_recent: dict[int, tuple[Exercise, dict[int, Draw]]] = {}
"""Draws of the most recently checked exercises, oldest first."""


def _cached(exercise: Exercise, case: Case) -> Draw | None:
    """The draw of one of the exercise's cases; None for a case drawn on a GPU or made by an experiment."""
    if case.gpu or all(case is not own for own in exercise.cases):
        return None
    draws = _recent.pop(id(exercise), (exercise, {}))[1]
    _recent[id(exercise)] = (exercise, draws)  # a reference keeps the id from being reused
    while len(_recent) > CACHED_EXERCISES:
        del _recent[next(iter(_recent))]
    if id(case) not in draws:
        given = inputs(exercise, case)
        draws[id(case)] = Draw(given, Truth(exercise, given))
    return draws[id(case)]


_roundings: dict[tuple[int, int, bool], tuple[Exercise, Roundings]] = {}
"""What rounding costs in cases that only run on a GPU, by exercise and case: a few numbers each."""


def _known_roundings(exercise: Exercise, case: int, tf32: bool) -> Roundings | None:
    kept, found = _roundings.get((id(exercise), case, tf32), (None, None))
    return found if kept is exercise else None


def _remember_roundings(exercise: Exercise, case: int, tf32: bool, found: Roundings) -> None:
    if len(_roundings) >= REMEMBERED_ROUNDINGS:
        _roundings.clear()
    _roundings[id(exercise), case, tf32] = (exercise, found)  # a reference keeps the ids from being reused


def inputs(exercise: Exercise, case: Case) -> Inputs:
    """The case's inputs: on the GPU for a case that only runs there, else on the CPU."""
    if not (case.gpu and device.has_gpu()):
        return exercise.inputs(case, case.generator())
    found = draw_on(exercise, case, "cuda", torch.Generator("cuda").manual_seed(case.seed))
    return on_device(found if found is not None else exercise.inputs(case, case.generator()), "cuda")


def without_data(exercise: Exercise, case: Case) -> Inputs | None:
    """A case's inputs as shapes alone; None if they cannot be drawn without looking at data."""
    return draw_on(exercise, case, "meta", None)


def draw_on(exercise: Exercise, case: Case, where: str, generator: torch.Generator | None) -> Inputs | None:
    """A case's inputs drawn on another device, with that device's generator; None if that fails.

    Raises what torch raises where the memory is too small: drawn on the CPU they would not fit either.
    """
    try:
        with _DeviceMode(torch.device(where), generator):
            return exercise.inputs(case, case.generator())
    except (NotImplementedError, RuntimeError) as error:
        if memory.is_out_of_memory(error):
            raise
        return None


def on_device(given: Inputs, where: str) -> Inputs:
    """The inputs with their tensors on a device."""
    return {n: v.to(where) if isinstance(v, torch.Tensor) else v for n, v in given.items()}


class _DeviceMode(LightDispatchMode):
    """Makes new tensors on another device. On "meta" there is no data: every number reads as 1."""

    def __init__(self, where: torch.device, generator: torch.Generator | None):
        super().__init__()
        self.where = where
        self.generator = generator

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if self.where.type == "meta" and func is torch.ops.aten._local_scalar_dense.default:
            return 1.0
        takes = {argument.name for argument in func._schema.arguments}
        kwargs.pop("generator", None)
        if "generator" in takes:
            kwargs["generator"] = self.generator
        if "device" in takes and not any(isinstance(value, torch.Tensor) for value in args):
            kwargs["device"] = self.where
        return func(*args, **kwargs)
