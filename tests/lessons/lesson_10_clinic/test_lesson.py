"""Lesson 10: patients are sick in one place, cures are no rewritings, suites are judged by what they kill."""

from __future__ import annotations

import dataclasses
import inspect
import sys

import pytest
import sympy as sp
import torch

import flashlearn
from flashlearn.course.answers import mistake_function, solution
from flashlearn.judging.cases import run, run_observed
from flashlearn.lessons import find
from flashlearn.lessons.lesson_10_clinic import (
    clinic_4,
    clinic_5,
    clinic_6,
    clinic_7,
    clinic_9,
    clinic_10,
    instruments,
    mutants,
    patients,
    pictures,
    suites,
)
from flashlearn.lessons.lesson_10_clinic.mutants import DEFENDANTS, Trial, draw
from flashlearn.lessons.shared import example, reference
from flashlearn.outcome import Status
from flashlearn.running.answer_source import source_of

PATIENTS = [find(f"clinic_{number}") for number in range(1, 11)]


def check(name, function):
    return flashlearn.check(name, function, demo=True)


# ---------------------------------------------------------------- patients


@pytest.mark.parametrize("exercise", PATIENTS, ids=lambda e: e.name)
def test_a_patient_is_sick_in_one_place(exercise):
    assert 1 <= patients.changed_lines(source_of(solution(exercise)), exercise.name) <= 2


@pytest.mark.parametrize("exercise", PATIENTS, ids=lambda e: e.name)
def test_the_disease_is_the_first_named_mistake_and_shows_in_some_case(exercise):
    name = next(iter(exercise.explained.mistakes))
    mistake = exercise.explained.mistakes[name]
    assert mistake.launcher is patients.sick(exercise.name)
    assert mistake.status in {o.status for o in run(exercise, mistake.launcher, compiled=False)}


@pytest.mark.parametrize("exercise", PATIENTS, ids=lambda e: e.name)
def test_the_words_about_a_disease_do_not_quote_its_cure(exercise):
    mistake = next(iter(exercise.explained.mistakes.values()))
    sick = set(patients.sick_source(exercise.name).splitlines())
    cure = [line.strip() for line in inspect.getsource(inspect.unwrap(solution(exercise))).splitlines()]
    for line in set(cure) - sick:
        assert len(line) < 12 or line not in mistake.sentence + mistake.next_step


@pytest.mark.parametrize("exercise", [e for e in PATIENTS if e.explained.quantities], ids=lambda e: e.name)
def test_the_check_does_not_point_at_the_sick_line_of_a_patient_as_admitted(exercise):
    mistake = next(iter(exercise.explained.mistakes.values()))
    if mistake.status is Status.WRONG:  # a race or a wrong address shows its line: that is the measurement
        assert flashlearn.check(exercise.name, mistake.launcher, demo=True).finding.place is None


@pytest.mark.parametrize("name", ["clinic_1", "clinic_4", "clinic_5", "clinic_7", "clinic_9"])
def test_a_right_kernel_passes_whatever_the_draw(name):
    exercise = find(name)
    for case in exercise.cases:
        if not case.gpu:
            outcome = run_observed(exercise, solution(exercise), dataclasses.replace(case, seed=500))
            assert outcome.status is Status.PASS, (case.name, outcome.message)


def learner(name, *edits):
    """A cure as a learner would write it: edits of the sick source."""
    return patients.edited(name, *edits)


CURES = {
    "clinic_1": (("dk_ptr + key_tile, dk,", "dk_ptr + key_tile, dk * alpha,"),),
    "clinic_4": ((clinic_4.P_4, "p = tl.exp(s - tl.where(rows < S_q, lse_i, float('inf'))[:, None])"),),
    "clinic_5": (
        (clinic_5.MAX_S, f"        s = tl.where(seen, s, -1.0e30)\n{clinic_5.MAX_S}"),
        (clinic_5.SUM_L, f"{clinic_5.MASK_P}{clinic_5.SUM_L}"),
        (f"{clinic_5.MASK_P}        acc", "        acc"),
    ),
    "clinic_6": ((clinic_6.LSE_6, "m_i * 0.6931471805599453 + tl.log(l_i), mask"),),
    "clinic_7": ((clinic_7.DS_7, "dp -= delta_i[:, None]\n        ds = p * dp"),),
    "clinic_9": ((clinic_9.SUM_9, "acc *= rescale[:, None]\n        acc += pv"),),
    "clinic_10": (
        (clinic_10.LAUNCH_10, "delta, dk, dv, alpha, S_q=S_q, S_k=S_k, D=D"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CURES)
def test_another_cure_than_ours_passes(name):
    if name == "clinic_5":  # edits may only name what occurs once: build it in two steps
        source = patients.sick_source(name)
        source = source.replace(clinic_5.MASK_P, "")
        source = source.replace(clinic_5.SUM_L, f"{clinic_5.MASK_P}{clinic_5.SUM_L}")
        cured = patients.load_patient(source, name, "another cure")
    else:
        cured = learner(name, *CURES[name])
    report = check(name, cured)
    assert report.passed, str(report)


def test_a_right_kernel_that_is_no_cure_is_told_so():
    def clinic_1(q, k, v, o, do, lse, alpha):
        dq, dk, dv = other(q, k, v, o, do, lse, alpha)
        return dq, dk, dv

    other = solution(find("clinic_1"))
    report = check("clinic_1", clinic_1)
    assert report.status is Status.WRONG and "lines differ" in report.sentence


def test_comments_and_layout_are_no_changes():
    source = patients.sick_source("clinic_7").replace("ds = p * dp", "ds = (p *   dp)  # a comment\n")
    assert patients.changed_lines(source, "clinic_7") == 0


def test_dividing_by_the_number_of_programs_is_no_cure_of_patient_3():
    edits = [
        (f"{target} + key_tile, {what},", f"{target} + key_tile, {what} / PARTS,")
        for target, what in (("dk_ptr", "alpha * dk"), ("dv_ptr", "dv"))
    ]
    edits = [(f"tl.atomic_add({old}", f"tl.atomic_add({new}") for old, new in edits]
    report = check("clinic_3", learner("clinic_3", *edits))
    assert report.status is Status.WRONG and "symptom" in report.sentence


# ---------------------------------------------------------------- the tests that missed them


def errors(name, **sizes):
    return instruments.errors(name, instruments.patient(name), instruments.inputs(name, **sizes))


@pytest.mark.parametrize(
    ("name", "blind", "seeing"),
    [
        ("clinic_4", {"S_q": 48, "S_k": 56}, {"S_q": 49, "S_k": 56}),
        ("clinic_5", {"S_q": 1, "S_k": 64}, {"S_q": 64, "S_k": 64}),
        ("clinic_9", {"S_q": 40, "S_k": 16}, {"S_q": 40, "S_k": 17}),
        ("clinic_10", {"S_q": 48, "S_k": 48}, {"S_q": 80, "S_k": 48}),
    ],
)
def test_each_patient_has_inputs_that_hide_it_and_inputs_that_show_it(name, blind, seeing):
    assert max(errors(name, **blind).values()) < 1e-5
    assert max(errors(name, **seeing).values()) > 0.05


def test_alpha_one_hides_patient_1():
    given = instruments.inputs("clinic_1", S_q=40, S_k=56)
    o, lse = reference.attention_forward(given["q"], given["k"], given["v"], 1.0)
    found = instruments.errors(
        "clinic_1", instruments.patient("clinic_1"), {**given, "o": o, "lse": lse, "alpha": 1.0}
    )
    assert max(found.values()) < 1e-4


def test_the_accumulator_overflows_only_where_values_are_large_and_half():
    large = {"S_q": 20, "S_k": 64, "data": "V near 2500"}
    assert errors("clinic_8", **large)["o"] < 0.01
    assert errors("clinic_8", **large, dtype=torch.float16)["o"] == float("inf")


# ---------------------------------------------------------------- instruments


def test_watching_gives_every_round_of_one_program():
    given = instruments.inputs("clinic_7", S_q=40, S_k=56)
    rounds = instruments.watch(instruments.patient("clinic_7"), given, program=(2,))
    expected = instruments.twin(given)
    assert len(rounds) == 4
    for number, seen in enumerate(rounds):
        tile = expected.tile(2, number)
        p = seen["p"][: tile["p"].shape[0], : tile["p"].shape[1]]
        torch.testing.assert_close(p.double(), tile["p"], rtol=0, atol=1e-5)


def test_watching_leaves_tracing_as_it_was_and_works_after_a_check():
    check("clinic_7", instruments.patient("clinic_7"))
    before = sys.gettrace()
    instruments.watch(instruments.patient("clinic_7"), instruments.example())
    assert sys.gettrace() is before


def test_a_program_that_does_not_exist_cannot_be_watched():
    with pytest.raises(LookupError, match="grid is smaller"):
        instruments.watch(instruments.patient("clinic_7"), instruments.example(), program=(7,))


def test_line_by_line_names_the_first_line_that_differs(capsys):
    given = instruments.inputs("clinic_7", S_q=40, S_k=56)
    instruments.line_by_line(
        instruments.watch(instruments.patient("clinic_7"), given)[1], instruments.twin(given).tile(0, 1)
    )
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["agrees", "agrees", "agrees", "differs"]


@pytest.mark.parametrize(
    ("right", "wrong", "left"),
    [
        ({"dq", "dv"}, {"dk"}, ["dk"]),
        ({"dv"}, {"dq", "dk"}, ["delta", "dp", "ds"]),
        ((), {"dq", "dk", "dv"}, ["p", "s"]),
        ({"dq", "dk"}, {"dv"}, ["dv"]),
    ],
)
def test_the_dependency_argument_leaves_what_no_right_output_needs(right, wrong, left):
    assert instruments.suspects(right, wrong) == left


def test_a_wrong_ds_may_give_the_right_dq():
    exact = example.symbolic()
    hidden = exact.K.T.nullspace()
    assert len(hidden) == 1
    z = sp.Matrix([1, -2, 0, 1]) * hidden[0].T
    assert z * exact.K == sp.zeros(4, 2) and z.T * exact.Q != sp.zeros(3, 2)


# ---------------------------------------------------------------- tests on trial

GOOD = [
    (lambda t: t._replace(k=t.k.T.contiguous().T))(draw(20, 40, 24, alpha=0.4, causal=True)),
    draw(40, 20, causal=True),
    draw(32, 32)._replace(q=10 * draw(32, 32).q, k=10 * draw(32, 32).k),
    draw(32, 32)._replace(do=1e6 * draw(32, 32).do),
]


def test_there_are_twelve_mutants_and_three_right_kernels():
    assert [d.guilty for d in DEFENDANTS] == [True] * 12 + [False] * 3


def test_four_trials_kill_all_mutants_and_spare_the_right():
    for defendant in DEFENDANTS:
        assert (mutants.killed_by(GOOD, defendant.fault) is not None) == defendant.guilty, defendant.nature


def test_each_of_the_four_trials_is_needed():
    dead = [[mutants.kills(trial, d.fault) for d in DEFENDANTS[:12]] for trial in GOOD]
    for left_out in range(4):
        assert not all(any(row[i] for k, row in enumerate(dead) if k != left_out) for i in range(12))


def test_one_ordinary_trial_finds_two_mutants():
    assert sum(mutants.kills(draw(32, 32), d.fault) for d in DEFENDANTS) == 2


def test_a_verdict_counts_the_dead_and_says_what_no_trial_tries():
    suite = [draw(32, 32), draw(40, 20, causal=True), draw(32, 32)._replace(do=1e6 * draw(32, 32).do)]
    report = check("tests_on_trial", lambda q, k, v, do, alpha: suite)
    assert report.status is Status.WRONG
    assert "alpha is 1/√D in every trial" in report.sentence
    assert "no trial has more keys than queries" in report.finding.mistake
    passed = sum(o.status is Status.PASS for o in report.outcomes)
    assert f"kills {passed - 3} of 12" in report.sentence


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        (7, "expected a list of Trial"),
        ([], "expected 1 to 8"),
        ([draw(8, 8)] * 9, "the suite has 9 trials, expected 1 to 8"),
        ([3], "trial 0 of the suite (counted from 0) is a int"),
        ([draw(65, 16)], "1 to 64"),
        ([draw(16, 16)._replace(q=torch.zeros(16, 16, dtype=torch.float16))], "float32"),
        ([draw(16, 16)._replace(do=torch.zeros(15, 16))], "shape of q"),
        ([draw(16, 16)._replace(q=torch.full((16, 16), float("inf")))], "cannot judge"),
    ],
)
def test_what_is_no_suite_gets_a_sentence(suite, words):
    report = check("tests_on_trial", lambda q, k, v, do, alpha: suite)
    assert report.status is Status.CRASHED and words in report.sentence
    assert "marked line" not in report.sentence, "the line is the lesson's, and no line is shown"


def test_a_suite_may_be_a_tuple_or_a_single_trial():
    assert mutants.checked(draw(4, 4))[0].q.shape == (4, 16)
    assert len(mutants.checked((draw(4, 4), draw(5, 5)))) == 2
    assert isinstance(GOOD[0], Trial)


@pytest.mark.parametrize("gap", suites.GAPS, ids=lambda gap: gap.name)
def test_a_good_suite_has_no_gap_and_each_gap_names_faults_that_exist(gap):
    assert not all(gap.holds(trial) for trial in GOOD)
    assert gap.hides <= {d.fault for d in DEFENDANTS if d.guilty}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda t: t._replace(causal=False), "no trial is causal"),
        (lambda t: t._replace(alpha=t.q.shape[1] ** -0.5), "every test has the default alpha"),
        (lambda t: t._replace(k=t.k.contiguous()), "every tensor is contiguous"),
        (lambda t: t._replace(do=t.do.clamp(-3, 3)), "no dO is large"),
    ],
)
def test_a_suite_is_told_what_none_of_its_trials_tries(change, name):
    suite = [change(trial) for trial in GOOD]
    survivors = {d.fault for d in DEFENDANTS if d.guilty and mutants.killed_by(suite, d.fault) is None}
    assert survivors and [gap.name for gap in suites.lacking(suite, survivors)] == [name]


def test_a_survivor_that_no_gap_accounts_for_is_not_explained_by_one():
    assert suites.lacking(GOOD, {"top-left mask"}) == []


def test_a_gap_is_said_even_where_it_does_not_account_for_every_survivor():
    square = [
        trial._replace(q=trial.q[:20], do=trial.do[:20], k=trial.k[:20], v=trial.v[:20]) for trial in GOOD
    ]
    names = [
        gap.name for gap in suites.lacking(square, {"top-left mask", "queries end at S_k", "dS in fp16"})
    ]
    assert names == ["every test is square"]


def test_the_trials_that_reject_right_kernels_are_told():
    unfair = draw(32, 32)
    unfair = unfair._replace(q=1000 * unfair.q, k=1000 * unfair.k)
    report = check("tests_on_trial", lambda q, k, v, do, alpha: [*GOOD, unfair])
    assert report.finding.mistake == "a right kernel is condemned"
    assert f"Of your trials, counted from 0, number {len(GOOD)} (" in report.sentence


def test_blind_suites_are_known_by_their_names():
    exercise = find("tests_on_trial")
    report = check("tests_on_trial", mistake_function(exercise, "one ordinary test"))
    assert report.finding.mistake == "one ordinary test"


# ---------------------------------------------------------------- pictures


def test_the_pictures_say_what_they_show():
    left = instruments.suspects({"dv"}, {"dq", "dk"})
    assert "suspect: delta, dp, ds" in pictures.dependencies({"dv"}, left).description
    given = instruments.inputs("clinic_7", S_q=40, S_k=56)
    seen, tile = (
        instruments.watch(instruments.patient("clinic_7"), given)[0],
        instruments.twin(given).tile(0, 0),
    )
    assert "ds: largest difference" in pictures.side_by_side({"ds": (seen["ds"], tile["ds"])}).description
    shown = pictures.kills(["a"], ["x", "y", "z"], [[True, False, True]], guilty=2)
    assert shown.description == "a kills 1, of 2 mutants."
