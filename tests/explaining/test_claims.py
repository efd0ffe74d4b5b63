"""Every claim of a rule about an answer of the corpus is true: recomputed from the tensors by other code."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining import stages
from flashlearn.explaining.findings import RULES
from flashlearn.explaining.findings.never_read import NeverRead
from flashlearn.explaining.findings.precision import Precision
from flashlearn.explaining.findings.rule import Clue
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.outcome import FindingKind, Outcome, Status
from flashlearn.running.answer import Here
from tests.corpus import Entry, sample, wrong_entries
from tests.explaining.claims import CHECKS

KINDS = (Kind.KERNEL, Kind.TORCH)
GENERIC = {rule.name for rule in RULES} | {"last tile missing", "first tile missing", "permuted heads"}
ANSWERS = [e for e in wrong_entries() if find(e.exercise).kind in KINDS and "13" != find(e.exercise).lesson]
LABELLED = [e for e in ANSWERS if GENERIC & set(e.names)]
SAMPLE = ANSWERS if os.environ.get("CORPUS") == "all" else [*sample(LABELLED, 8), *sample(ANSWERS, 50)]
MOST = 8
"""Cases of an answer, those with the fewest elements first."""


def wrong_outcomes(exercise: Exercise, entry: Entry) -> list[Outcome]:
    """The smallest cases that ran to the end and came out wrong."""
    cases = sorted((c for c in exercise.cases if not c.gpu), key=lambda case: sum(case.sizes.values()))
    outcomes = [run_observed(exercise, entry.function, case) for case in cases[:MOST]]
    return [o for o in outcomes if o.status is Status.WRONG and o.outputs]


def claims(exercise: Exercise, outcomes: list[Outcome]) -> Iterator[tuple[FindingKind, list[Clue]]]:
    """What each rule, asked alone, says of each output, with the clues that it had."""
    clues: dict[str, list[Clue]] = {}
    for outcome in outcomes:
        for check in outcome.outputs:
            if not check.ok:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    for found in clues.values():
        for rule in RULES:
            holds = stages.holding([rule], found)
            if holds is not None:
                yield holds.finding.kind, found


@pytest.mark.slow
def test_every_claim_of_a_rule_is_true():
    false, counted = [], Counter()
    for entry in dict.fromkeys(SAMPLE):
        exercise = find(entry.exercise)
        for kind, clues in claims(exercise, wrong_outcomes(exercise, entry)):
            if type(kind) not in CHECKS:
                continue
            counted[kind.name] += 1
            if not CHECKS[type(kind)](kind, clues):
                false.append(f"{entry}: {kind.wording().sentence}")
    print(f"{counted.total()} claims checked: {dict(counted)}")
    assert not false, "\n".join(false)
    assert counted.total() >= len(SAMPLE) / 2


def test_every_rule_has_a_claim_that_is_recomputed():
    elsewhere = {
        NeverRead,
        Precision,
    }  # the first below, the second is a comparison of two numbers that it quotes
    assert set(RULES) - elsewhere <= set(CHECKS)


@pytest.mark.slow
def test_what_is_said_to_be_never_read_may_hold_anything():
    """With NaN where no program is said to read, not a bit of the outputs changes."""
    checked = 0
    answers = [e for e in ANSWERS if {"last tile missing", "first tile missing", "never read"} & set(e.names)]
    for entry in answers if os.environ.get("CORPUS") == "all" else sample(answers, 12):
        exercise = find(entry.exercise)
        for outcome in wrong_outcomes(exercise, entry)[:3]:
            unread = outcome.observation.unread if outcome.observation is not None else {}
            for name, mask in unread.items():
                inputs = exercise.inputs(outcome.case, outcome.case.generator())
                if not bool(mask.any()) or not inputs[name].is_floating_point():
                    continue
                inputs[name].masked_fill_(mask, float("nan"))
                returned = Here(entry.function, exercise)._caller().call(inputs)
                outputs = returned if isinstance(returned, tuple) else (returned,)
                for output, check in zip(outputs, outcome.outputs, strict=True):
                    written = check.got.isfinite()  # what was never written is NaN in an observed run
                    assert torch.equal(output[written], check.got[written]), f"{entry}: {name}"
                checked += 1
    assert checked >= 3
