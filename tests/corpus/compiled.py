"""The corpus on a CUDA GPU: kernels compiled, and a diagnosis from their outputs alone.

    $ python -m tests.corpus --compiled 60

Entries are spread evenly over the corpus. Only kernels that return wrong numbers, and do nothing else wrong,
are launched: not those that access memory out of bounds, race or crash, and not those whose fault is the
value of a masked load's hidden lanes, which is undefined on a GPU.
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
from tests.corpus.entries import Entry
from tests.corpus.measure import CheckResult, Measurement

HARMLESS = {Status.WRONG, Status.PASS}


def measure(entries: Sequence[Entry], count: int) -> Iterator[Measurement]:
    """Measurements of `count` wrong entries that can be launched, and named by their outputs alone."""
    kernels = [e for e in entries if find(e.exercise).kind is Kind.KERNEL]
    step = max(1, len(kernels) // count)
    left = count
    for entry in (*kernels[::step], *(e for i, e in enumerate(kernels) if i % step)):
        measurement = _measurement(entry) if left else None
        if measurement is not None:
            left -= 1
            yield measurement


def on_the_gpu(function: Callable) -> Callable:
    """A launcher whose torch.empty and similar calls allocate on the GPU, even if they name no device."""

    @functools.wraps(function)
    def launcher(*values):
        with torch.device("cuda"):
            return function(*values)

    return launcher


def _measurement(entry: Entry) -> Measurement | None:
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
        return Measurement(entry, CheckResult(passed, (), "", seconds, seconds))
    found = CheckResult(passed, finding.names, finding.sentence, seconds, seconds, finding.partial)
    return Measurement(entry, found)
