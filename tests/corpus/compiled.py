"""The corpus on a CUDA GPU: kernels compiled, and a diagnosis that has nothing but their outputs.

    $ python -m tests.corpus --compiled 60

Entries are taken evenly over the corpus. A kernel that leaves its tensors, races or crashes is not launched
for real: only those whose answers are wrong numbers, and nothing else, are measured here. Nor is one
whose fault is what a masked load leaves in its hidden lanes: on a GPU that is undefined.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence

import torch

from flashlearn.exercise import Kind
from flashlearn.explaining import diagnose
from flashlearn.explaining.experiments import undefined_lanes
from flashlearn.interpreter.cautions import TF32
from flashlearn.judging.cases import has_caution, run
from flashlearn.judging.compiled_cases import run_compiled
from flashlearn.lessons import find
from flashlearn.outcome import Status
from tests.corpus import Entry
from tests.corpus.measure import Result, Said

HARMLESS = {Status.WRONG, Status.PASS}


def measured(entries: Sequence[Entry], count: int) -> Iterator[Result]:
    """`count` wrong entries that can be launched, compiled, and named by their outputs alone."""
    kernels = [e for e in entries if find(e.exercise).kind is Kind.KERNEL]
    step = max(1, len(kernels) // count)
    left = count
    for entry in (*kernels[::step], *(e for i, e in enumerate(kernels) if i % step)):
        result = _result(entry) if left else None
        if result is not None:
            left -= 1
            yield result


def on_the_gpu(function: Callable) -> Callable:
    """A launcher whose torch.empty and its like allocate on the GPU, also where no device is named."""

    @functools.wraps(function)
    def launcher(*values):
        with torch.device("cuda"):
            return function(*values)

    return launcher


def _result(entry: Entry) -> Result | None:
    exercise = find(entry.exercise)
    small = dataclasses.replace(exercise, cases=tuple(case for case in exercise.cases if not case.gpu))
    started = time.perf_counter()
    observed = run(small, entry.function, compiled=False)
    if {o.status for o in observed} - HARMLESS or all(o.status is Status.PASS for o in observed):
        return None
    if undefined_lanes(small, [o for o in observed if o.status is Status.WRONG], entry.function) is not None:
        return None
    tf32 = has_caution(observed, TF32)
    outcomes = run_compiled(small, on_the_gpu(entry.function), tf32=tf32, run_all=True)
    finding = diagnose(small, outcomes)
    seconds = time.perf_counter() - started
    passed = all(o.status is Status.PASS for o in outcomes)
    if finding is None:
        return Result(entry, Said(passed, (), "", seconds, seconds))
    said = Said(passed, finding.names, finding.sentence, seconds, seconds, finding.partial)
    return Result(entry, said)
