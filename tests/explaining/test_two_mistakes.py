"""Two mistakes in the same numbers: likely pairs first, an edit and a mistake, rounding besides."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import pytest
import torch

from flashlearn.exercise import Case
from flashlearn.explaining import diagnose, predictions
from flashlearn.explaining.declared_mistakes import _unexplained
from flashlearn.explaining.edits.echoes import Echoes
from flashlearn.explaining.explanations import (
    Explanation,
    _of_other_outputs,
    second_in_formula,
    two_explanations,
)
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.two_mistakes import AtOnce, PartlyWritten
from flashlearn.explaining.in_some_cases import find_in_some_cases
from flashlearn.explaining.mistake_pairs import _nearest_first, _places
from flashlearn.explaining.predictions import Candidate, Predictions
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.lessons.lesson_15_variants.sink_formulas import FIRST_SUM
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from tests.corpus.entries import find_entries
from tests.corpus.functions import function_from_text

WALK = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    acc = torch.empty_like(q)
    mean_key = torch.zeros_like(q)
    delta = torch.zeros(q.shape[0], 1, dtype=q.dtype)
    for k, v in tiles:
        p = (alpha * (q @ k.mT) - lse.unsqueeze(1)).exp()
        dp = do @ v.mT
        acc = acc + (p * dp) @ k
        mean_key = mean_key + p @ k
        {delta}
    return alpha * acc - alpha * delta * mean_key
"""
FULL, FLOOR = "range(tl.cdiv(S_k, BLOCK_K))", "range(S_k // BLOCK_K)"
HALF = "tl.zeros((BLOCK_Q, BLOCK_D), k_ptr.dtype.element_ty)"


def explained(exercise, text):
    function = function_from_text(text, exercise.name)
    return diagnose(exercise, run(exercise, function), function)


def test_pairs_of_near_candidates_come_before_those_with_a_remote_one():
    ordered = [Candidate((name,), torch.sin) for name in "abcd"]
    pairs = [one.names[0] + other.names[0] for one, other in _nearest_first(ordered)]
    assert pairs == ["ab", "ac", "ad", "bc", "bd", "cd"]


def test_of_two_mistakes_that_change_one_number_nothing_is_foretold():
    right = torch.tensor([1.0, 2.0, 3.0])
    one, other = torch.tensor([5.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 7.0])
    assert _places(one, other, right).tolist() == [5.0, 2.0, 7.0]
    with pytest.raises(ValueError):
        _places(one, torch.tensor([6.0, 2.0, 3.0]), right)


def test_two_mistakes_that_both_show_in_every_case_are_found_within_the_budget():
    (entry,) = find_entries("dq_kernel_causal", "two mistakes: own key hidden, delta not weighted by p")
    exercise = find("dq_kernel_causal")
    finding = diagnose(exercise, run(exercise, entry.function), entry.function)
    assert set(finding.names) == {"delta subtracted after P", "mask hides the diagonal"}


def test_an_edit_after_which_a_declared_mistake_is_all_that_is_left_is_one_of_two():
    finding = explained(find("dq_in_one_walk"), WALK.format(delta="pass"))
    assert finding.names == ("delta forgotten",) and "`torch.empty_like(q)`" in finding.sentence
    assert "with `torch.zeros_like(q)` only the second mistake is left. (2)" in finding.sentence
    assert finding.next_step.startswith("(1)") and "(2)" in finding.next_step


def test_one_mistake_alone_is_not_called_two():
    right_delta = "delta = delta + (p * dp).sum(-1, keepdim=True)"
    assert "two mistakes" not in explained(find("dq_in_one_walk"), WALK.format(delta=right_delta)).sentence


def test_an_echo_is_a_declared_mistake_or_a_multiple_and_neither_right_nor_the_answers_own():
    exercise = find("dq_in_one_walk")
    function = function_from_text(WALK.format(delta="pass"), exercise.name)
    outcome = next(o for o in run(exercise, function) if o.status is Status.WRONG)
    echoes = Echoes(exercise, outcome)
    predictions = Predictions(exercise, [outcome])
    declared = next(c for c in predictions.candidates() if c.names == ("delta forgotten",))
    right = [check.expected for check in outcome.outputs]
    assert echoes.hears(next(predictions.of(declared, outcome)))
    assert echoes.hears([3 * x for x in right])
    assert not echoes.hears(right) and not echoes.hears([check.got for check in outcome.outputs])
    assert not echoes.hears([x + torch.linspace(0, 1, x.numel()).reshape(x.shape) for x in right])


@pytest.mark.parametrize("half", [True, False])
def test_a_sum_in_half_precision_is_seen_beside_a_mistake_that_is_much_larger(half):
    (entry,) = find_entries("dq_kernel", "dq grows in k's dtype")
    text = entry.text.replace(FULL, FLOOR)
    text = text if half else text.replace(HALF, HALF.replace("k_ptr.dtype.element_ty", "tl.float32"))
    assert FLOOR in text and (HALF in text) is half
    context = {"delta_preprocess": entry.function.__globals__["delta_preprocess"]}
    function = function_from_text(text, "dq_kernel", context=context)
    exercise = find("dq_kernel")
    finding = diagnose(exercise, run(exercise, function), function)
    assert finding.names[0] == "the last, incomplete block of keys is left out"
    assert ("deviates from that by more than" in finding.sentence) is half


TUNED, FA3, FOLDED, FP8 = map(find, ("tuned_backward", "fa3_backward", "folded_logsumexp", "fp8_forward"))
DROPOUT = find("dropout")


@pytest.mark.parametrize(
    ("exercise", "faults", "names"),
    [
        (
            TUNED,
            {"log2 e left in dK", "LSE and delta at K's head"},
            {"log2 e left in dK", "LSE and delta at the head of K"},
        ),
        (
            TUNED,
            {"log2 e left in dK", "heads dealt round for dK and dV"},
            {"log2 e left in dK", "heads dealt round for dK and dV"},
        ),
        (
            FA3,
            {"LSE in base 2", "one sum for all heads"},
            {"log2 e is missing from LSE", "all heads in the first one's dQ"},
        ),
        (
            FOLDED,
            {"rescaled by raw extremes", "maximum in base 2"},
            {"the old sum is rescaled by raw maxima", "LSE in base 2"},
        ),
        (
            FP8,
            {"unit upside down 64", "no guard"},
            {"the change of unit upside down", "rows that see nothing are NaN"},
        ),
        (FOLDED, {"ln 2 twice", "0 · ∞"}, {"ln 2 twice", "0 · ∞"}),
        (
            DROPOUT,
            {"nothing scaled", "rows S_q apart", "heads too"},
            {"1/(1 − p) forgotten", "rows are S_q apart"},
        ),
    ],
    ids=[
        "a factor and rows",
        "a factor and heads",
        "a base and an address",
        "two bases",
        "a unit and a guard",
        "a base and a NaN",
        "a factor and an address",
    ],
)
def test_two_mistakes_of_which_one_shows_in_few_cases_are_named(exercise, faults, names, monkeypatch):
    monkeypatch.setattr(predictions, "LIKELY", (predictions.USUAL,))
    known = next(m.wrong for m in exercise.explained.mistakes.values() if m.wrong is not None)
    formula = functools.partial(known.func, **{**known.keywords, "faults": frozenset(faults)})

    def answer(*values):
        return formula(**dict(zip(exercise.parameters(), values, strict=True)))

    finding = diagnose(exercise, run(exercise, answer), answer)
    assert set(finding.names) == names


def test_an_output_that_is_right_in_the_smallest_cases_is_asked_about_where_it_is_wrong():
    def failing(name, *wrong):
        checks = tuple(OutputCheck(output, output not in wrong) for output in ("dq", "dk"))
        return Outcome(Case(name), Status.WRONG, outputs=checks)

    one, two, three = failing("one", "dq"), failing("two", "dq", "dk"), failing("three", "dk")
    assert _of_other_outputs([one, two, three], [one]) == [two]
    assert _of_other_outputs([one, two, three], [one, two]) == []


def test_the_second_of_two_mistakes_is_sought_where_all_numbers_are_finite():
    def failing(name, rows, fill=0.0):
        got = torch.full((rows, 8), fill)
        check = OutputCheck("dq", False, got=got, expected=torch.ones(rows, 8, dtype=torch.float64))
        return Outcome(Case(name, sizes={"S_q": rows, "S_k": 8}), Status.WRONG, outputs=(check,))

    nan, finite, far_larger = failing("nan", 8, math.nan), failing("finite", 16), failing("large", 80)
    assert _unexplained([nan, finite], []) is finite
    assert _unexplained([nan, far_larger], []) is nan
    known = Explanation(Candidate(("known",), torch.sin), {("finite", "dq")}, set(), numbers=20)
    assert _unexplained([finite, nan], [known]) is nan


def test_of_mistakes_that_explain_the_same_the_one_that_claims_nothing_more_is_one_of_two():
    def questions(*outputs):
        return {("small", output) for output in outputs}

    def explanation(name, explained, denied, claims=frozenset()):
        found = Explanation(Candidate((name,), torch.sin), explained, denied, numbers=20)
        found.claims |= claims
        return found

    wide = explanation("everywhere", questions("dk", "dv"), questions("dq"), questions("dq"))
    narrow = explanation("in two", questions("dk", "dv"), questions("dq"))
    other = explanation("in one", questions("dq"), questions("dk", "dv"))
    found = two_explanations([wide, narrow, other], questions("dq", "dk", "dv"), [])
    assert {e.name for e in found} == {("in two",), ("in one",)}


def times(factors):
    """Wrong cases whose output is the right one times a factor for each of them."""
    right = torch.linspace(1.0, 2.0, 20)
    made = []
    for number, factor in enumerate(factors):
        got = right * torch.tensor(factor).expand(20)
        check = OutputCheck("lse", False, 1.0, 1e-6, got=got, expected=right.double())
        case = Case(f"case {number}", sizes={"N": 20}, seed=number)
        made.append(Outcome(case, Status.WRONG, outputs=(check,)))
    return replace(find("online_logsumexp"), inputs=lambda case, generator: {"x": right}), made


def test_a_mistake_that_shows_in_the_few_numbers_of_one_output_is_one_of_two():
    exercise = find("sinks")
    formula = exercise.explained.mistakes["dlogits has the wrong sign"].wrong
    faults = formula.keywords["faults"] | {FIRST_SUM}
    wrong = functools.partial(formula.func, **{**formula.keywords, "faults": faults})

    def answer(*values):
        return wrong(**dict(zip(exercise.parameters(), values, strict=True)))

    finding = diagnose(exercise, run(exercise, answer), answer)
    names = {"the first sum is not relative to the maximum", "dlogits has the wrong sign"}
    assert set(finding.names) == names


def test_a_factor_that_some_cases_show_is_told_with_their_number():
    told = find_in_some_cases(*times([math.log2(math.e)] * 4 + [float("nan")]))
    assert told.sentence.startswith("In 4 of the 5 failing cases, lse is log2 e = 1.443 times the right")
    assert told.sentence.endswith("Check again after fixing it.")


def test_a_factor_without_a_meaning_or_of_one_case_alone_is_not_told():
    assert find_in_some_cases(*times([1.37, 0.77, float("nan")])) is None
    assert find_in_some_cases(*times([math.log2(math.e), 0.77, float("nan")])) is None


def test_a_second_fault_in_the_formula_that_fits_is_told_where_it_is_a_mistake_of_its_own():
    exercise = find("flash_forward_causal")
    ways = {c.compute.keywords["faults"]: c for c in Predictions(exercise, []).candidates() if not c.costly}
    alone, also = (ways[frozenset(names)] for names in (["top-left mask"], ["top-left mask", "no guards"]))
    assert alone.names == also.names == ("top-left alignment",)
    assert second_in_formula(exercise, alone) == []
    assert second_in_formula(exercise, also) == ["rows that see nothing are NaN"]
    backward = find("dq_kernel_causal")  # no guard is needed where the mask follows the exponential
    every = Predictions(backward, []).candidates()
    assert not any(second_in_formula(backward, c) for c in every if not c.costly)


def test_where_elements_are_never_written_what_the_kernel_makes_of_its_id_is_asked_for_too():
    kind = PartlyWritten("p", "small", 5, 37, (Finding(Declared("p is off.", "Why?")),))
    assert "makes of a program's id" in kind.wording().next_step


def test_wrong_numbers_of_another_case_are_said_with_its_name():
    part = Finding(Declared("p is off.", "Why?"))
    here, there = (PartlyWritten("p", "small", 5, 37, (part,), elsewhere) for elsewhere in ("", "large"))
    assert "(case small). (2) What is written is wrong, too." in here.wording().sentence
    assert "(case small). (2) In case “large” what is written is wrong, too." in there.wording().sentence


def test_two_mistakes_in_what_was_written_are_not_counted_as_three():
    both = Finding(
        AtOnce(parts=(Finding(Declared("p is off.", "Why?")), Finding(Declared("q is off.", "Where?"))))
    )
    wording = PartlyWritten("p", "small", 5, 37, (both,)).wording()
    assert wording.sentence.count("two mistakes") == 1 and "no program writes 5 of 37" in wording.sentence
