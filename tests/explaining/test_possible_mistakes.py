"""How sure a declared mistake is: what cases that pass say against it, and what NaN alone can show."""

from __future__ import annotations

import torch

from flashlearn.exercise import Case
from flashlearn.explaining.explanations import Explanation, finding_of, two_explanations
from flashlearn.explaining.findings.declared import FIRST_NAN, POSSIBLE
from flashlearn.explaining.predictions import Candidate
from flashlearn.judging.return_values import mismatch_sentence
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, OutputCheck, Status

RIGHT = torch.tensor([1.0, 2.0, 3.0, 4.0])
DQ = find("dq_kernel")
NAME = "padded keys get a probability"


def outcome(case: str, got: torch.Tensor = RIGHT, output: str = "dq") -> Outcome:
    ok = torch.equal(got, RIGHT)
    check = OutputCheck(output, ok, got=got, expected=RIGHT.double(), error=0.0 if ok else 1.0, allowed=0.1)
    return Outcome(Case(case), Status.PASS if ok else Status.WRONG, outputs=(check,))


def explanation(name: str, explained: list[str], denied: list[str] = ()) -> Explanation:
    candidate = Candidate((name,), lambda: RIGHT)
    answers = {"explained": explained, "denied": denied}
    sets = {kind: {(case, "dq") for case in cases} for kind, cases in answers.items()}
    return Explanation(candidate, **sets, numbers=32)


WRONG = [outcome(name, RIGHT + 1.0) for name in "abcd"]
ASKED = {(name, "dq") for name in "abcd"}


def test_two_mistakes_are_named_where_each_explains_cases_of_its_own():
    parts = [explanation("one", ["a", "b"]), explanation("other", ["c", "d"])]
    assert two_explanations(parts, ASKED, WRONG) == tuple(parts)


def test_a_mistake_that_would_show_in_a_case_that_passes_is_not_one_of_two():
    parts = [explanation("one", ["a", "b"], ["e"]), explanation("other", ["c", "d"])]
    assert two_explanations(parts, ASKED, [*WRONG, outcome("e")]) is None


def test_two_outputs_of_one_case_are_not_two_cases_of_its_own():
    wrong = {("a", "dk"), ("a", "dv"), ("b", "dk"), ("b", "dv")}
    parts = [explanation(name, []) for name in ("one", "other")]
    for part, case in zip(parts, "ab", strict=True):
        part.explained = {(case, "dk"), (case, "dv")}
    assert two_explanations(parts, wrong, WRONG) is None


def declared(got: torch.Tensor) -> tuple[str, str]:
    """Sentence and next step for a mistake that gives these numbers."""
    found = finding_of(DQ, [explanation(NAME, ["a"])], [outcome("a", got)], {("a", "dq")})
    return found.sentence, found.next_step


def test_a_mistake_is_only_possible_where_every_element_is_nan():
    sentence, step = declared(torch.full((4,), float("nan")))
    mistake = DQ.explained.mistakes[NAME].sentence
    assert sentence == f"{POSSIBLE} {mistake}" and step == FIRST_NAN


def test_nan_in_just_the_predicted_elements_speaks_for_a_mistake():
    sentence, step = declared(torch.tensor([float("nan"), 2.0, 3.0, 4.0]))
    mistake = DQ.explained.mistakes[NAME]
    assert (sentence, step) == (mistake.sentence, mistake.next_step)


def test_how_many_cases_a_mistake_explains_is_said_before_it_where_these_are_not_all():
    asked = {(name, "dq") for name in "abcd"}
    found = finding_of(DQ, [explanation(NAME, ["a", "b", "c"])], WRONG, asked)
    start = "In 3 of the 4 failing cases, the following mistake gives your numbers, to within rounding."
    mistake = DQ.explained.mistakes[NAME].sentence
    assert found.sentence == f"{start} {mistake} Check again after fixing it."


def test_an_output_with_the_name_of_several_things_is_spoken_of_in_the_plural():
    checks = {name: outcome("a", RIGHT + 1.0, name).outputs for name in ("losses", "ds", "scales", "o")}
    verbs = {name: mismatch_sentence(check).split()[1] for name, check in checks.items()}
    assert verbs == {"losses": "are", "ds": "is", "scales": "are", "o": "is"}
