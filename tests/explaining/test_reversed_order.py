"""Numbers in reverse order are named; a shift, and what reads the same from both ends, are not."""

from __future__ import annotations

import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.explaining import diagnose
from flashlearn.judging.cases import run


def exercise(reference) -> Exercise:
    return Exercise(
        name="reversed_for_rules",
        lesson="99",
        kind=Kind.TORCH,
        title="",
        signature="(x) -> y",
        outputs=("y",),
        inputs=lambda case, generator: {"x": torch.randn(40, 8, generator=generator)},
        cases=(Case("one", seed=1), Case("another", seed=2)),
        judged=HowJudged(reference=reference),
    )


@pytest.mark.parametrize(
    ("reference", "axis", "words"),
    [
        (lambda x: 2 * x, 0, "the right rows in reverse order: row 0 holds the last one"),
        (lambda x: 2 * x, 1, "the right columns in reverse order"),
        (lambda x: x.sum(1), 0, "the right elements in reverse order"),
    ],
)
def test_the_right_numbers_from_the_last_to_the_first_are_named(reference, axis, words):
    task = exercise(reference)
    finding = diagnose(task, run(task, lambda x: reference(x).flip(axis)))
    assert finding.names == ("reversed order",) and words in finding.sentence


@pytest.mark.parametrize("change", [lambda y: y.roll(1, 0), lambda y: -y.flip(0), lambda y: y.flip(0, 1)])
def test_what_is_not_reversed_along_one_axis_is_not_called_so(change):
    task = exercise(lambda x: 2 * x)
    finding = diagnose(task, run(task, lambda x: change(2 * x)))
    assert finding is None or finding.names != ("reversed order",)
