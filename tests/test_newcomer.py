"""What a newcomer stumbled over in the browser, and must not meet again."""

from __future__ import annotations

import io
import math

import pytest
import sympy as sp
from rich.console import Console

from flashlearn import check
from flashlearn.cli import status
from flashlearn.course.overview import survey
from flashlearn.course.progress import Progress
from flashlearn.lessons.lesson_05_execution_model import block_budget
from flashlearn.lessons.lesson_10_clinic import tests_on_trial
from flashlearn.lessons.lesson_10_clinic.instruments import Trial, draw
from flashlearn.outcome import Status
from flashlearn.running.crashes import failure
from tests.course.synthetic_course import lesson, make_course


def budget_without_rounding(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """Registers as if they were handed out one by one."""
    right = block_budget.block_budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu)
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (registers * 32 * warps),
        gpu.shared_per_sm // (right[1] + 1024),
    )
    return right[0], right[1], sp.Rational(blocks * warps, gpu.warps_per_sm)


def test_a_budget_whose_registers_are_not_rounded_to_eights_is_wrong():
    report = check("budget", budget_without_rounding)
    assert report.status is Status.WRONG
    assert "occupancy" in report.text() and "97" in report.text()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "No trial of your suite kills mutant 2: assumes that alpha is 1/√D."),
        (13, "A trial of your suite condemns right 2: a right kernel that uses powers of two."),
    ],
)
def test_a_wrong_verdict_says_who_lives_and_who_was_condemned(number, words):
    case = tests_on_trial.tests_on_trial.cases[number]
    assert tests_on_trial.verdict_on(case) == words


def test_a_survivor_is_no_number_that_is_off():
    report = check("tests_on_trial", lambda q, k, v, do, alpha: [draw(16, 16)])
    wrong = [outcome for outcome in report.outcomes if outcome.status is Status.WRONG]
    assert wrong and all("your suite" in outcome.message for outcome in wrong)
    assert "off by up to" not in report.text()


def test_a_suite_that_sees_more_than_a_blind_one_is_not_called_blind():
    report = check("tests_on_trial", lambda q, k, v, do, alpha: [Trial(q, k, v, do, alpha), draw(20, 40)])
    assert "of 12 mutants" in report.sentence and "one square test" not in report.sentence


def test_tensors_among_trials_are_called_no_suite():
    report = check("tests_on_trial", lambda q, k, v, do, alpha: (Trial(q, k, v, do, alpha), k, v))
    assert report.status is Status.WRONG and "not a suite" in report.sentence


@pytest.mark.parametrize(
    ("use", "advice"),
    [(math.ceil, "sp.ceiling"), (lambda x: max(x, 3), "sp.Max")],
    ids=["math.ceil", "max"],
)
def test_python_functions_that_meet_a_symbol_are_answered_with_sympys(use, advice):
    with pytest.raises(TypeError) as caught:
        use(sp.Symbol("x", positive=True))
    status_, sentence, _ = failure(caught.value, 1.0, use)
    assert status_ is Status.CRASHED and advice in sentence


def test_a_long_title_is_whole_where_there_is_room_and_cut_where_there_is_none(tmp_path, monkeypatch):
    title = "From an empty cell to a kernel of your own"
    course = make_course(tmp_path / "course", {"00_tour": lesson("row_sum", title=title)})
    monkeypatch.setenv("FLASHLEARN_COURSE", str(course.root))

    def shown(width: int) -> str:
        console = Console(width=width, record=True, file=io.StringIO())
        status.show(survey(course, Progress()), console)
        return console.export_text()

    assert title in shown(80)
    assert "…" in shown(50) and title not in shown(50)
