"""A declared mistake that gives some outputs, or some cases, is named as one of what may be several."""

from __future__ import annotations

import functools

import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.explaining.declared_in_part import (
    find_declared_in_some_cases,
    find_declared_in_some_outputs,
)
from flashlearn.explaining.declared_mistakes import find_declared
from flashlearn.judging.cases import run

NONE: frozenset[str] = frozenset()


def both_passes(x, faults=NONE):
    """The squares, and twice the numbers as their gradient; below the fifth row one is added to both."""
    o = x * x * (3 if "thrice" in faults else 1)
    dx = (x if "not doubled" in faults else 2 * x) * (3 if "thrice" in faults else 1)
    added = (torch.arange(x.shape[0]) > 4).to(x.dtype)[:, None]
    return o + added, dx + added


def mistake(name, sentence):
    return Mistake(sentence, "Look again.", wrong=functools.partial(both_passes, faults=frozenset({name})))


THRICE = mistake("thrice", "The squares count three times.")
SIZES = (4, 3, 12, 11, 10, 9, 8)


def exercise_with(sizes=SIZES, **mistakes):
    return Exercise(
        name="squares_to_name",
        lesson="99",
        kind=Kind.TORCH,
        title="",
        signature="(x) -> o, dx",
        outputs=("o", "dx"),
        inputs=lambda case, generator: {"x": torch.randn(case.sizes["m"], 16, generator=generator)},
        cases=tuple(Case(f"{m} rows", {"m": m}, seed=m) for m in sizes),
        judged=HowJudged(reference=both_passes),
        explained=HowExplained(mistakes=mistakes),
    )


def of_outputs(x):
    o, dx = both_passes(x, frozenset({"thrice"}))
    return o, dx * dx.abs()


def of_cases(x):
    """Below the fifth row nothing is right."""
    o, dx = both_passes(x, frozenset({"thrice"}))
    return torch.cat([o[:5], o[5:].cos()]), torch.cat([dx[:5], dx[5:].sin()])


def found(answer, **mistakes):
    exercise = exercise_with(**(mistakes or {"thrice": THRICE}))
    outcomes = run(exercise, answer)
    return find_declared_in_some_outputs(exercise, outcomes) or find_declared_in_some_cases(
        exercise, outcomes
    )


def test_a_mistake_that_gives_one_output_everywhere_is_named_and_the_other_output_left_open():
    finding = found(of_outputs)
    assert finding.names == ("thrice",) and finding.partial and not finding.conclusive
    assert finding.sentence.startswith("In every failing case `o` has the numbers that the following mistake")
    assert "`dx` is wrong too, with other numbers than it gives" in finding.sentence
    assert finding.next_step == "Look again. Fix it, and check again."


def test_a_mistake_that_gives_an_output_everywhere_is_not_counted_by_the_cases_that_have_no_other():
    def answer(x):
        o, dx = of_outputs(x)
        return o, dx if len(x) > 4 else both_passes(x, frozenset({"thrice"}))[1]

    exercise = exercise_with(thrice=THRICE)
    assert find_declared(exercise, run(exercise, answer)).sentence.startswith("In every failing case `o`")


def test_a_mistake_that_gives_all_outputs_of_two_cases_is_named_with_their_number():
    finding = found(of_cases)
    assert finding.names == ("thrice",) and finding.partial
    assert finding.sentence.startswith("In 2 of the 7 failing cases, the following mistake gives")
    assert finding.sentence.endswith("Check again after fixing it.")


@pytest.mark.parametrize("answer", [of_outputs, of_cases])
def test_of_two_mistakes_that_give_the_same_part_neither_is_named(answer):
    again = mistake("thrice", "The other way to count three times.")
    assert found(answer, thrice=THRICE, again=again) is None


def test_a_mistake_whose_words_are_about_an_output_that_has_other_numbers_is_not_named():
    assert found(of_outputs, thrice=mistake("thrice", "o and dx count three times.")) is None


def test_a_mistake_that_would_show_where_the_answer_is_right_is_not_named():
    def in_large_ones(x):
        return of_outputs(x) if len(x) > 4 else both_passes(x)

    assert found(in_large_ones) is None


def test_a_mistake_that_gives_two_of_many_cases_is_not_named():
    exercise = exercise_with((*SIZES, *range(13, 18)), thrice=THRICE)
    assert find_declared_in_some_cases(exercise, run(exercise, of_cases)) is None
