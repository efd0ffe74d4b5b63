"""`key_order`: the order in which V's keys are stored, so that no thread has to give away a probability."""

from __future__ import annotations

from typing import Any

import sympy as sp
import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_14_low_precision import orders


def _as_they_come(place: Any) -> Any:
    return place


def _place_of_the_key(place: Any) -> Any:
    return place % 8 // 2 * 4 + place // 8 * 2 + place % 2


def _halves_alternate(place: Any) -> Any:
    return place // 4 * 2 + place % 2 * 8 + place % 4 // 2


def _every_fourth(place: Any) -> Any:
    return place // 4 + place % 4 * 4


def _pairs_four_apart(place: Any) -> Any:
    return place // 8 * 8 + place % 8 // 4 * 2 + place % 4 // 2 * 4 + place % 2


MISTAKES = {
    "the place of a key": Mistake(
        "Your sixteen numbers are the inverse: they say at which place each key is. The exercise asks which "
        "key is at each place.",
        "Places 4 to 7 belong to thread 1. Which keys does thread 1 hold after the first product?",
        wrong=_place_of_the_key,
    ),
    "the order in which the keys come": Mistake(
        "Place p has key p: then a thread needs four keys in a row, of which it has at most two.",
        "In the picture's first row, which four keys have the colour of thread 0?",
        wrong=_as_they_come,
    ),
    "a thread's keys are not ascending": Mistake(
        "Every thread keeps its own four keys, but within a thread they do not ascend.",
        "Sort each thread's four keys.",
        wrong=_halves_alternate,
    ),
    "every fourth key": Mistake(
        "A thread's places have every fourth key, as if keys were dealt out to the threads one by one.",
        "After the first product a thread holds two pairs of neighbouring keys.",
        wrong=_every_fourth,
    ),
    "pairs four apart": Mistake(
        "A thread's second pair is four keys after its first, as if two threads shared eight keys.",
        "All four threads have a pair among the first eight keys. Where does the next round begin?",
        wrong=_pairs_four_apart,
    ),
}


def place_of(number: int) -> Case:
    return Case(f"place {number}", {"place": number})


def one_place(case: Case, generator: torch.Generator) -> Inputs:
    """The place as an integer of sympy."""
    return {"place": sp.Integer(case.sizes["place"])}


key_order = Exercise(
    name="key_order",
    lesson="14",
    kind=Kind.SYMBOLIC,
    title="The order of V's keys that leaves P where it is",
    signature="(place) -> key",
    outputs=("key",),
    inputs=one_place,
    cases=tuple(place_of(number) for number in range(16)),
    judged=HowJudged(reference=orders.key_at),
    explained=HowExplained(mistakes=MISTAKES),
    points=1,
)
