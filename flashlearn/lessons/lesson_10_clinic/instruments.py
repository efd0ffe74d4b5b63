"""Instruments for finding out what is wrong with a kernel: lesson 10's, and good for any kernel of yours.

    >>> seen = watch(dkv, inputs, program=(0,))         # what every name held, an entry per round of the loop
    >>> line_by_line(seen[1], twin(inputs).tile(1, 0))  # against a twin in torch
    s      agrees
    p      agrees
    dp     differs by up to 3.1
    >>> suspects(right={"dv"}, wrong={"dq", "dk"})      # what is left when what is right has been crossed out
    ['delta', 'dp', 'ds']

Kernels are run in the observed interpreter, on the CPU, whether there is a GPU or not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import torch
import triton.language as tl
from torch import Tensor

from flashlearn import lessons
from flashlearn.exercise import Inputs
from flashlearn.interpreter.learner_code import LEARNER_CODE
from flashlearn.interpreter.route import apart
from flashlearn.interpreter.session import Session
from flashlearn.lessons.lesson_10_clinic.mutants import BAR, DEFENDANTS, Trial, draw, kills
from flashlearn.lessons.lesson_10_clinic.patient_exercises import with_sizes
from flashlearn.lessons.lesson_10_clinic.patients import DEPENDS, sick, sick_source
from flashlearn.lessons.shared import example as small
from flashlearn.lessons.shared import reference

__all__ = [
    "BAR", "DEFENDANTS", "Trial", "draw", "errors", "example", "inputs", "kills", "line_by_line", "patient",
    "show", "source", "suspects", "twin", "watch",
]  # fmt: skip

AGREES = 1e-4  # of the largest entry: rounding apart, the same

Round = dict[str, Tensor]


def patient(name: str) -> Callable:
    """The launcher of a patient as it was admitted: "clinic_1" to "clinic_10"."""
    return sick(name)


def source(name: str) -> str:
    """The sick patient's source, kernel and launcher."""
    return sick_source(name)


def inputs(name: str, **sizes: Any) -> Inputs:
    """Inputs for a patient, drawn for other sizes: S_q, S_k, D, and magnitude, dtype, data, seed."""
    exercise = lessons.find(name)
    case = with_sizes(exercise, **sizes)
    return exercise.inputs(case, case.generator())


def example(forward: bool = False) -> Inputs:
    """The running example as inputs of a patient: 4 queries, 3 keys, D padded from 2 to 16 with zeros."""
    q, k, v, do = (torch.nn.functional.pad(t, (0, 14)) for t in small.tensors())
    if forward:
        return {"q": q, "k": k, "v": v, "alpha": small.ALPHA}
    o, lse = reference.attention_forward(q, k, v, small.ALPHA)
    return {"q": q, "k": k, "v": v, "o": o, "do": do, "lse": lse, "alpha": small.ALPHA}


def errors(name: str, function: Callable, given: Inputs) -> dict[str, float]:
    """The largest error of each output of a patient, absolute, against the fp64 reference.

    Raises flashlearn.LaunchError where the kernel leaves its tensors.
    """
    exercise = lessons.find(name)
    wide = {n: x.double() if isinstance(x, Tensor) else x for n, x in given.items()}
    right = exercise.reference(**wide)
    with apart(seed=0):
        got = function(*given.values())
    right, got = (x if isinstance(x, tuple) else (x,) for x in (right, got))
    found = zip(exercise.outputs, got, right, strict=True)
    return {n: float((g.double() - r).nan_to_num(math.inf, math.inf).abs().max()) for n, g, r in found}


# ---------------------------------------------------------------- watching a kernel


def watch(function: Callable, given: Inputs | Iterable[Any], program: tuple[int, ...] = (0,)) -> list[Round]:
    """What the tiles of one program held, one entry per round of its loop, under the kernel's own names.

    A round begins when the loop's variable `start` changes; entry r holds each name's last value in round r,
    what was assigned before the loop included. A kernel without such a loop gives one entry.
    """
    values = tuple(given.values()) if isinstance(given, Mapping) else tuple(given)
    with apart() as session:
        watcher = _Watcher(session, (*program, 0, 0)[:3])
        before = sys.gettrace()
        sys.settrace(watcher.enter)
        try:
            function(*values)
        finally:
            sys.settrace(before)
    if not watcher.found:
        raise LookupError(f"no kernel ran a program {program}: the grid is smaller")
    return watcher.rounds


class _Watcher:
    """A trace function that looks at the local variables of one program, after every line."""

    def __init__(self, session: Session, program: tuple[int, int, int]):
        self.session, self.program = session, program
        self.rounds: list[Round] = [{}]
        self.last: dict[str, Any] = {}
        self.start: Any = None
        self.found = False

    def enter(self, frame: FrameType, event: str, _argument: Any) -> Callable | None:
        mine = frame.f_code in LEARNER_CODE and self.session.memory.program == self.program
        if not mine or self.found or not self.session.running:
            return None
        self.found = True
        return self.step

    def step(self, frame: FrameType, event: str, _argument: Any) -> Callable:
        values = frame.f_locals
        start = values.get("start")
        if start is not self.start and start is not None:
            if self.start is not None:
                self.rounds.append(dict(self.rounds[-1]))
            self.start = start
        for name, value in values.items():
            if isinstance(value, tl.tensor) and value is not self.last.get(name) and value.shape:
                self.last[name] = value
                data = np.asarray(value.handle.data)
                kind = np.float32 if value.dtype.is_floating() else None
                self.rounds[-1][name] = torch.from_numpy(np.array(data, dtype=kind))
        return self.step


# ---------------------------------------------------------------- a twin in torch, line by line


@dataclass(frozen=True)
class Twin:
    """The same lines in torch at fp64, whole matrices under the kernels' names, and tiles of them."""

    values: Round

    def __getitem__(self, name: str) -> Tensor:
        return self.values[name]

    def tile(self, i: int, j: int, block: int = 16) -> Round:
        """Tile (i, j): block i of the queries, block j of the keys; as many rows and columns as exist."""
        rows, keys = slice(i * block, (i + 1) * block), slice(j * block, (j + 1) * block)
        return {name: value[rows, keys] for name, value in self.values.items() if value.ndim == 2}


def twin(given: Inputs, causal: bool = False) -> Twin:
    """S, P, dP and dS of a backward patient's inputs (`s`, `p`, `dp`, `ds`), and `delta`."""
    q, k, v, o, do = (given[name].double() for name in ("q", "k", "v", "o", "do"))
    s = reference.attention_scores(q, k, given["alpha"], causal)
    p = reference.softmax_from_lse(s)
    dp = do @ v.mT
    delta = reference.attention_delta(o, do)
    return Twin({"s": s, "p": p, "dp": dp, "ds": p * (dp - delta[:, None]), "delta": delta})


def line_by_line(seen: Round, expected: Round, names: Iterable[str] = ("s", "p", "dp", "ds")) -> None:
    """Print for each name, in the kernel's order, whether the tile agrees with the twin's."""
    for name in names:
        right = expected[name]
        got = seen[name][tuple(slice(n) for n in right.shape)].double()
        gap = float((got - right).abs().nan_to_num(math.inf, math.inf).max())
        agrees = gap <= AGREES * max(1.0, float(right.abs().max()))
        print(f"{name:6} {'agrees' if agrees else f'differs by up to {gap:.3g}'}")


def show(seen: Round, expected: Round, name: str, digits: int = 3) -> None:
    """Print one name's tile from the kernel and from the twin, side by side."""
    right = expected[name]
    got = seen[name][tuple(slice(n) for n in right.shape)].double()
    width = digits + 5
    columns = right.shape[1]
    print(f"{name + ' in the kernel':<{columns * width + 3}}{name} in the twin")
    for mine, theirs in zip(got.tolist(), right.tolist(), strict=True):
        left, other = ("".join(f"{_plain(x, digits):>{width}}" for x in row) for row in (mine, theirs))
        print(f"{left}   {other}")


def _plain(x: float, digits: int) -> str:
    return f"{round(x, digits) + 0.0:.{digits}f}"


# ---------------------------------------------------------------- the dependency argument


def suspects(right: Iterable[str], wrong: Iterable[str]) -> list[str]:
    """Lines of a one-pass backward kernel that may be sick, if exactly one is, given which outputs are right.

    Whatever a right output was made of is crossed out; what is left must lie on the way to every wrong one.
    """
    cleared = set().union(*(_ancestry(output) for output in right))
    blamed = [_ancestry(output) for output in wrong]
    common = set.intersection(*blamed) if blamed else set()
    return sorted(common - cleared)


def _ancestry(name: str) -> set[str]:
    """A line and all lines it depends on."""
    if name not in DEPENDS:
        return set()
    return {name}.union(*(_ancestry(part) for part in DEPENDS[name]))
