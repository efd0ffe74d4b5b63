"""What the first divergence says of answers of the corpus can be recomputed: operands, values and pairs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from flashlearn.explaining.divergence import first_divergence
from flashlearn.interpreter.observers.assigned_values import Event, ValueRecorder
from flashlearn.judging.cases import run_observed
from flashlearn.judging.tolerance import agrees
from flashlearn.lessons import find
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import answering
from flashlearn.running.run_modes import Observed
from tests.corpus import wrong_entries
from tests.explaining.divergence.reference import Reference, Spot

EXERCISES = {
    "dq_kernel": False, "dq_kernel_causal": True, "dkv_kernel": False, "dkv_kernel_causal": True,
    "flash_forward": False, "flash_forward_causal": True,
}  # fmt: skip
SAMPLE = 12
"""Answers of each exercise."""

MOST_PAIRS = 1200
"""Pairs of the largest case that is looked at, so that a tile is found quickly."""


class Claims:
    """What one finding says of one answer, recomputed from a fresh run; `held` counts the claims by kind."""

    def __init__(self, name: str, function, outcome: Outcome, found: Finding):
        self.exercise, self.outcome, self.found = find(name), outcome, found
        self.facts = found.facts
        self.inputs = self.exercise.inputs(outcome.case, outcome.case.generator())
        self.reference = Reference(self.inputs, EXERCISES[name])
        self.answer = answering(self.exercise, function)
        self.events, right = self.run({})
        assert not right, "the case that is named is not wrong"
        self.held: Counter[str] = Counter()

    def run(self, instead: dict[int, np.ndarray]) -> tuple[tuple[Event, ...], bool]:
        """The events of a run, and whether all outputs are right."""
        how = Observed(observers=(ValueRecorder(instead),), limit=self.exercise.judged.time_limit)
        evidence = self.answer.run(self.inputs, how)
        pairs = zip(self.outcome.outputs, evidence.values, strict=True)
        return evidence.observations[ValueRecorder].events, all(agrees(c, out) for c, out in pairs)

    def check(self) -> Counter[str]:
        """All claims of the finding."""
        assert f"(case {self.outcome.case.name})" in self.found.sentence
        if "agrees" in self.facts:
            if self.found.place is not None:  # else its calls are asked about: it names no tile of its own
                self.check_operands()
            self.check_pair()
        self.check_repair()
        return self.held

    def statement(self, name: str, line: int) -> list[Event]:
        """The events of a statement."""
        here = [e for e in self.events if (e.site.name, e.site.line) == (name, line)]
        return [e for e in here if e.site.kind != "load"]

    def spots(self, number: int) -> list[Spot]:
        """What the value of an event is, in every lane that exists."""
        array = self.events[number].array
        plain = array.dtype.kind != "f" or array.size < 2 or (array == array.flat[0]).all()
        factors = (1.0, self.reference.alpha) if self.facts.get("times") else (1.0,)
        return [] if plain else list(self.reference.spots(array, factors))

    def corner(self, event: Event) -> dict[str, int]:
        """Where a tile begins, by the inputs and the whole matrices that it was made of."""
        at: dict[str, int] = {}
        for spot in (s for n in event.operands for s in self.spots(n) if s.name in self.reference.whole):
            for axis, start in spot.at.items():
                at.setdefault(axis, start)
        return at

    def in_tile(self, event: Event) -> bool:
        """Whether an event may lie in the tile that is named, by where what it read begins."""
        at = self.corner(event)
        numbers = dict(zip("qk", self.facts["tile"], strict=True)) if len(self.facts["tile"]) == 2 else {}
        return all((at[axis] == 0) == (numbers.get(axis, at[axis]) == 0) for axis in at)

    def check_operands(self) -> None:
        """Names that are called right are tiles of a quantity itself, and the value is not its own."""
        program = self.found.place.program
        events = [
            e for e in self.statement(self.facts["variable"], self.facts["line"]) if e.program == program
        ]
        tried = [e for e in events if self.in_tile(e)]
        assert tried, f"no such tile: {self.found.sentence}"
        failures = []
        for event in tried:
            wrong = list(self.wrong_operands(event))
            if not wrong and not self.is_own(event):
                self.held["operands"] += len(self.facts["agrees"])
                self.held["value"] += 1
                return
            failures.append(wrong or "is right")
        raise AssertionError(f"{failures}: {self.found.sentence}")

    def wrong_operands(self, event: Event) -> Iterator[str]:
        """Names that are called right and are no tile of a quantity, or lie the other way round."""
        operands = {self.events[n].site.name: n for n in event.operands}
        turned = {}
        for name in self.facts["agrees"]:
            array = self.events[operands[name]].array
            if array.size < 2 or (array == array.flat[0]).all():
                continue  # the beginning of a sum
            spots = self.spots(operands[name])
            if not spots:
                yield name
            pairs = [s for s in spots if s.name in ("exp(S − LSE)", "dO Vᵀ", "alpha Q Kᵀ", "dP − delta")]
            if pairs and name in event.site.pointwise:
                turned[name] = pairs[0].turned
        if len(set(turned.values())) > 1:
            yield f"turned: {turned}"

    def is_own(self, event: Event) -> bool:
        """Whether the value is the quantity that it is said not to be, of the event's own head and tile."""
        words = self.facts["quantity"]
        if self.facts["times"] or event.array.dtype.kind != "f" or words not in self.reference.whole:
            return False
        head, at = self.around(event)
        mine = self.reference.spots(event.array)
        return any(s.name == words and s.head == head and s.at.items() <= at.items() for s in mine)

    def around(self, event: Event) -> tuple[int | None, dict[str, int]]:
        """The head of a program, and where its tiles of Q and K begin when an event happens."""
        head, at = None, {}
        for other in self.events:
            inside = other.scope == event.scope[: len(other.scope)]
            if other.program == event.program and inside and "load(" in other.text:
                for spot in (s for s in self.spots(other.number) if s.name in ("Q", "K")):
                    head = spot.head
                    at |= spot.at
        return head, at

    def check_pair(self) -> None:
        """The pair is hidden, or is not, in the case that is named."""
        instead = self.facts["instead"]
        if instead is not None and instead.kind in ("key shown", "key hidden", "unmasked"):
            visible = bool(self.reference.visible[instead.pair])
            assert visible == (instead.kind == "key hidden"), self.found.sentence
            self.held["pair"] += 1

    def check_repair(self) -> None:
        """With the quantity itself in place of the statement's values, all outputs are right."""
        words = self.facts.get("quantity") or self.facts.get("needed")
        whole, axes = self.reference.whole.get(words, (None, ""))
        if axes != "qk" or self.facts.get("times") or not self.facts["variable"]:
            return
        repaired = []
        for turned in (False, True):
            instead = {}
            for event in self.statement(self.facts["variable"], self.facts["line"]):
                placed = self.placed(event)
                if placed is None:
                    return
                instead[event.number] = self.filled(event, whole, placed, turned)
            repaired.append(all(a is not None for a in instead.values()) and self.run(instead)[1])
        assert any(repaired) or self.two_steps(), self.found.sentence
        self.held["repair"] += any(repaired)

    def two_steps(self) -> bool:
        """Whether the statement is one of several that are wrong, which no single repair shows."""
        return self.facts.get("before") is not None

    def placed(self, event: Event) -> tuple[int, int, int] | None:
        """Head, first query and first key of a tile, by what it was made of; None where that is not sure."""
        spots = [s for n in event.operands for s in self.spots(n) if s.name in self.reference.whole]
        heads, at = {s.head for s in spots}, {a: {s.at[a] for s in spots if a in s.at} for a in "qk"}
        if len(heads) != 1 or any(len(starts) != 1 for starts in at.values()):
            return None
        return heads.pop(), at["q"].pop(), at["k"].pop()

    @staticmethod
    def filled(
        event: Event, whole: np.ndarray, placed: tuple[int, int, int], turned: bool
    ) -> np.ndarray | None:
        """The event's array with the right numbers in the lanes that exist."""
        head, query, key = placed
        array = np.array(event.array, np.float64)
        tile = array.T if turned else array
        part = whole[head, query:, key:][: tile.shape[0], : tile.shape[1]] if tile.ndim == 2 else None
        if part is None:
            return None
        tile[: part.shape[0], : part.shape[1]] = part
        return array


def wrong_outcomes(name: str, function) -> list[Outcome]:
    """Small fp32 cases in which an answer is wrong."""
    exercise = find(name)
    small = [
        c
        for c in exercise.cases
        if c.dtype is torch.float32
        and 100 <= c.sizes["S_q"] * c.sizes["S_k"] <= MOST_PAIRS
        and c.magnitude == 1.0
    ]
    outcomes = [run_observed(exercise, function, case) for case in small[:4]]
    return [o for o in outcomes if o.status is Status.WRONG]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXERCISES)
def test_every_claim_about_answers_of_the_corpus_holds(name, record_property):
    entries = [e for e in wrong_entries() if e.exercise == name]
    held: Counter[str] = Counter()
    for entry in random.Random(name).sample(entries, min(SAMPLE, len(entries))):
        outcomes = wrong_outcomes(name, entry.function)
        found = first_divergence(find(name), entry.function, outcomes) if outcomes else None
        if found is not None:
            outcome = next(o for o in outcomes if o.case.name == found.facts["case"])
            held += Claims(name, entry.function, outcome, found).check()
    record_property("claims", dict(held))
    print(name, dict(held))
    assert held["operands"] + held["pair"] >= 3
