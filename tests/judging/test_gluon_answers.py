"""An answer in Gluon is judged like any other: numbers, faults of synchronisation, what the compiler says."""

from __future__ import annotations

import threading

import pytest
import torch

from flashlearn.checking import grade
from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.outcome import Status
from flashlearn.running.answer import Here
from flashlearn.running.run_modes import Observed
from tests.interpreter.gluon.gluon_kernels import endless, product

MATMUL = Exercise(
    name="matmul",
    lesson="13",
    kind=Kind.KERNEL,
    title="A product by partitions",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=lambda case, generator: {
        "a": torch.randn(case.sizes["m"], case.sizes["k"], generator=generator).to(case.dtype),
        "b": torch.randn(case.sizes["k"], case.sizes["n"], generator=generator).to(case.dtype),
    },
    cases=(
        Case("two tiles", sizes={"m": 64, "k": 128, "n": 64}, dtype=torch.float16, seed=1),
        Case("ragged", sizes={"m": 100, "k": 200, "n": 72}, dtype=torch.bfloat16, seed=2),
    ),
    judged=HowJudged(reference=lambda a, b: a @ b),
    solution="",
)


def graded(answer):
    return grade(MATMUL, answer, lambda name: None, budgeted=False)


def test_a_right_one_passes_in_every_case():
    def matmul(a, b):
        return product(a, b)

    report = graded(matmul)
    assert report.passed, str(report)
    assert report.outcomes[0].observation.timeline


def test_a_fault_of_synchronisation_is_the_finding_with_both_lines():
    def matmul(a, b):
        return product(a, b, "parity never changes", stages=1)

    report = graded(matmul)
    outcome = next(o for o in report.outcomes if o.status is not Status.PASS)
    assert outcome.status is Status.CRASHED and outcome.fault[:2] == ("synchronisation", "phase is off")
    assert "is 1. The wait in line" in str(report).replace("\n", " ").replace("  ", " ")


def test_wrong_numbers_are_looked_into_as_of_any_kernel():
    def matmul(a, b):
        return product(a, b * 0.5)

    assert graded(matmul).status is Status.WRONG


@pytest.mark.parametrize("worker", [False, True])
def test_a_partition_that_never_ends_is_stopped_and_leaves_no_thread(worker):
    def endlessly(x):
        endless[(1,)](x, WORKER=worker)
        return x

    before = set(threading.enumerate())
    evidence = Here(endlessly).run({"x": torch.zeros(8)}, Observed(seed=0, limit=0.3))
    assert evidence.raised.status is Status.TIMEOUT
    begun = [thread for thread in threading.enumerate() if thread not in before]
    for thread in begun:
        thread.join(60)  # a busy machine lets them come to their end late
    assert not [thread.name for thread in begun if thread.is_alive()]
