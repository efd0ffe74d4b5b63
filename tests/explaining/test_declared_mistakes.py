"""Declared mistakes are named alone, in pairs and beside other faults, and only where each of them shows."""

from __future__ import annotations

import dataclasses
import functools
from types import SimpleNamespace

import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.explaining import diagnose
from flashlearn.explaining.declared_mistakes import find_declared, partly_written
from flashlearn.explaining.matching import comparable, distance, fit, is_faint
from flashlearn.explaining.mistake_pairs import WorkBudget, pair_candidates
from flashlearn.explaining.predictions import Predictions, ResultCache, case_key, sizes_in
from flashlearn.judging.cases import run
from flashlearn.outcome import Outcome, OutputCheck, Status

NONE: frozenset[str] = frozenset()


def scores(x, faults=NONE):
    """Twice x, plus the row's number; of tall matrices the last column counts double."""
    y = x if "not doubled" in faults else 2 * x
    y = y if "rows not added" in faults else y + torch.arange(x.shape[0], dtype=x.dtype)[:, None]
    if x.shape[0] > x.shape[1] and "tall like all" not in faults:
        y = torch.cat([y[:, :-1], 2 * y[:, -1:]], dim=1)
    return y


def mistake(name):
    wrong = functools.partial(scores, faults=frozenset({name}))
    return Mistake(f"This is the mistake: {name}.", "Look again.", wrong=wrong)


CASES = (Case("square", {"m": 8, "n": 8}, seed=1), Case("tall", {"m": 9, "n": 5}, seed=2))
EXERCISE = Exercise(
    name="scores_to_name",
    lesson="99",
    kind=Kind.TORCH,
    title="",
    signature="(x) -> y",
    outputs=("y",),
    inputs=lambda case, generator: {"x": torch.randn(case.sizes["m"], case.sizes["n"], generator=generator)},
    cases=(*CASES, *(dataclasses.replace(c, name=f"{c.name} again", seed=c.seed + 2) for c in CASES)),
    judged=HowJudged(
        reference=scores,
    ),
    explained=HowExplained(
        mistakes={name: mistake(name) for name in ("not doubled", "rows not added", "tall like all")},
    ),
)


def found(*faults):
    def answer(x):
        return scores(x, frozenset(faults))

    return find_declared(EXERCISE, run(EXERCISE, answer))


def test_a_mistake_that_shows_everywhere_is_named():
    finding = found("not doubled")
    assert finding.mistake == "not doubled" and finding.fits == finding.of == 4


def test_two_mistakes_are_named_though_one_does_not_show_in_the_smallest_case():
    finding = found("rows not added", "tall like all")
    assert set(finding.mistake.split(" + ")) == {"rows not added", "tall like all"}
    assert finding.fits == finding.of == 4


def test_a_second_mistake_that_changes_nothing_is_not_named():
    square_cases = dataclasses.replace(EXERCISE, cases=EXERCISE.cases[::2])

    def answer(x):
        return scores(x, frozenset({"rows not added"}))

    assert find_declared(square_cases, run(square_cases, answer)).mistake == "rows not added"


def test_right_answers_and_unknown_mistakes_get_no_name():
    assert found() is None
    assert find_declared(EXERCISE, run(EXERCISE, lambda x: scores(x) + x.sin())) is None


def test_a_mistake_is_named_beside_a_case_that_stops():
    def answer(x):
        if x.shape[0] > x.shape[1]:
            raise IndexError("index 9 is out of bounds")
        return scores(x, frozenset({"not doubled"}))

    finding = diagnose(EXERCISE, run(EXERCISE, answer))
    assert "not doubled" in finding.mistake and "This is the mistake" in finding.sentence


def check(got, expected):
    got, expected = torch.tensor(got), torch.tensor(expected, dtype=torch.float64)
    return OutputCheck("y", False, error=float("inf"), allowed=1e-6, got=got, expected=expected)


NAN = float("nan")


def test_nan_in_other_places_than_foretold_speaks_neither_for_nor_against():
    other_places = fit(torch.tensor([NAN, 5.0, 7.0]), check([5.0, 5.0, NAN], [1.0, 2.0, 3.0]))
    assert other_places.loose and not other_places.explains
    assert fit(torch.tensor([NAN, 6.0, 7.0]), check([5.0, 5.0, NAN], [1.0, 2.0, 3.0])) is None
    assert fit(torch.tensor([5.0, 5.0, 7.0]), check([5.0, 5.0, NAN], [1.0, 2.0, 3.0])) is None


def test_how_far_a_prediction_is_cannot_be_said_where_it_is_not_finite():
    one = dataclasses.replace(check([5.0, 5.0, 5.0], [1.0, 2.0, 3.0]), error=4.0)
    assert distance(torch.tensor([NAN, 90.0, 7.0]), one) == 0.0
    assert distance(torch.tensor([5.0, 90.0, 7.0]), one) > 4.0
    assert distance(torch.tensor([5.0, 5.0, 7.0]), one) == 2.0


def test_the_telling_elements_hold_the_worst_one_and_survive_another_shape():
    one = check([0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 7)
    assert 2 in one.sample.tolist() and one.largest == 9.0
    assert len(dataclasses.replace(one, expected=torch.zeros(3)).sample) == 4
    assert len(check([], []).sample) == 0


def test_what_is_remembered_is_made_once_and_the_oldest_goes_first():
    memory, made = ResultCache(max_bytes=3000), []

    def make(name):
        made.append(name)
        return (torch.zeros(200),)  # 800 bytes, and 256 to keep them

    for name in ("a", "b", "a", "c", "b", "a"):
        memory.get(name, lambda n=name: make(n))
    assert made == ["a", "b", "c", "b", "a"] and memory.bytes_held <= 3000


def test_cases_that_draw_other_inputs_are_not_mixed_up():
    case = CASES[0]
    assert case_key(case) == case_key(dataclasses.replace(case))
    for other in ({"seed": 7}, {"sizes": {"m": 8, "n": 9}}, {"dtype": torch.float16}, {"layout": "strided"}):
        assert case_key(case) != case_key(dataclasses.replace(case, **other))


def test_a_case_that_is_right_counts_against_a_mistake_that_would_show_in_it():
    outcomes = run(EXERCISE, lambda x: scores(x, frozenset({"tall like all"})))
    statuses = [o.status for o in comparable(outcomes)]
    assert statuses.count(Status.PASS) == 2
    assert find_declared(EXERCISE, outcomes).mistake == "tall like all"


def vanishing(x, faults=NONE):
    """A fifth of a difference that is zero, up to rounding, where x has one row."""
    difference = (x * x).sum(1) - (x * x).flip(1).sum(1) + (x[:, 0] - x[0, 0])
    return difference if "no factor" in faults else difference / 5


def test_a_case_in_which_only_rounding_is_left_is_no_second_mistake():
    exercise = dataclasses.replace(
        EXERCISE,
        inputs=lambda case, generator: {"x": torch.randn(case.sizes["m"], 50, generator=generator)},
        cases=(Case("one row", {"m": 1}, seed=1), Case("a", {"m": 40}, seed=2), Case("b", {"m": 50}, seed=3)),
        judged=HowJudged(reference=vanishing),
        explained=HowExplained(
            mistakes={
                "no factor": Mistake(
                    "The factor is missing.",
                    wrong=functools.partial(vanishing, faults=frozenset({"no factor"})),
                )
            }
        ),
    )

    def answer(x):  # the mistake, rounded in another way
        return vanishing(x, frozenset({"no factor"})) + 2e-6 * torch.cos(torch.arange(x.shape[0]) + 1.0)

    outcomes = run(exercise, answer)
    assert outcomes[0].status is Status.WRONG and is_faint(outcomes[0].outputs[0])
    finding = find_declared(exercise, outcomes)
    assert (finding.mistake, finding.partial) == ("no factor", False)
    assert (finding.fits, finding.of) == (2, 3) and "others" not in finding.sentence


def test_numbers_that_overflow_here_and_there_may_round_like_large_numbers():
    right = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    wrong = torch.tensor([2.44e37, 1e3, float("inf")], dtype=torch.float64)
    got = (wrong * (1 + 1e-5)).float()
    check = OutputCheck("y", False, float("inf"), 1e-6, float("nan"), got=got, expected=right)
    assert fit(wrong, check).explains


def test_a_block_that_differs_from_case_to_case_is_taken_as_it_is_in_each():
    def outcome(case: str, block: int) -> SimpleNamespace:
        launch = SimpleNamespace(constexprs={"BLOCK": block, "STAGES": 2})
        return SimpleNamespace(case=SimpleNamespace(name=case), launches=[launch])

    (tile,) = Predictions(EXERCISE, [outcome("short", 32), outcome("long", 1024)]).tiles()
    assert (sizes_in(tile, "short"), sizes_in(tile, "long")) == ((32, 32), (1024, 1024))
    assert Predictions(EXERCISE, [outcome("short", 32), outcome("long", 32)]).tiles() == [(32, 32)]


def test_blocks_that_two_kernels_call_alike_are_each_kernel_s_own():
    def outcome(case: str, keys: tuple[int, int], queries: tuple[int, int]) -> SimpleNamespace:
        sizes = {"of_keys": keys, "of_queries": queries}
        launches = [
            SimpleNamespace(name=name, constexprs={"BLOCK_Q": q, "BLOCK_K": k})
            for name, (q, k) in sizes.items()
        ]
        return SimpleNamespace(case=SimpleNamespace(name=case), launches=launches)

    outcomes = [outcome("fp32", (32, 32), (32, 32)), outcome("fp16", (128, 64), (64, 64))]
    known = {(sizes_in(t, "fp32"), sizes_in(t, "fp16")) for t in Predictions(EXERCISE, outcomes).tiles()}
    assert {((32, 32), (128, 64)), ((32, 32), (64, 64))} <= known


def test_the_search_for_pairs_ends_by_work_done_and_not_by_the_clock():
    exercise = EXERCISE
    outcomes = run(exercise, lambda x: scores(x, frozenset({"rows not added", "tall like all"})))
    probe = next(o for o in outcomes if o.case.name == "tall")
    patience = WorkBudget(10_000.0)
    pairs = [c.names for c in pair_candidates(Predictions(exercise, outcomes), probe, patience)]
    spent = 10_000.0 - patience.left
    assert ("rows not added", "tall like all") in pairs and spent > 0
    again = WorkBudget(10_000.0)
    assert [c.names for c in pair_candidates(Predictions(exercise, outcomes), probe, again)] == pairs
    assert again.left == patience.left  # though everything was remembered
    assert not list(pair_candidates(Predictions(exercise, outcomes), probe, WorkBudget(-1.0)))


def test_after_two_mistakes_that_fit_in_one_case_other_ways_to_make_them_are_tried_first():
    other = functools.partial(scores, faults=frozenset({"rows not added"}))
    mistakes = {
        **EXERCISE.all_mistakes,
        "rows not added": dataclasses.replace(EXERCISE.all_mistakes["rows not added"], also=(other,)),
    }
    exercise = dataclasses.replace(EXERCISE, explained=HowExplained(mistakes=mistakes))
    outcomes = run(exercise, lambda x: scores(x, frozenset({"not doubled", "rows not added"})))
    found = list(pair_candidates(Predictions(exercise, outcomes), outcomes[0], WorkBudget(10_000.0)))
    first, second = ([part.compute for part in candidate.parts] for candidate in found[:2])
    assert other not in first and other in second


def test_a_prediction_of_integers_is_met_exactly_or_not_at_all():
    got = torch.tensor([0, 0, 4, 4, 2_000_000_000], dtype=torch.int32)
    right, predicted = torch.tensor([[0, 0, 1, 1, 2], [0, 0, 1, 1, 2_000_000_000]], dtype=torch.int32)
    check = OutputCheck("ids", False, 2e9, 0.0, got=got, expected=right)
    assert fit(predicted, check) is None and fit(got, check).explains


def test_what_no_program_writes_counts_as_missing_only_where_it_is_wrong():
    def outcome(expected: list[float]) -> Outcome:
        got, writers = torch.tensor([0.0, 3.0, 4.0]), torch.tensor([-1, 0, 0])
        check = OutputCheck("dq", False, 1.0, 1e-6, got=got, expected=torch.tensor(expected), writers=writers)
        return Outcome(Case("small", {}), Status.WRONG, outputs=(check,))

    assert not partly_written([outcome([0.0, 1.0, 1.0])])
    assert partly_written([outcome([1.0, 1.0, 1.0])])
