"""The card's order: what a learner needs comes first, everything else is folded beneath it."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from flashlearn.course.answers import mistake_function, solution
from flashlearn.course.check import check
from flashlearn.exercise import Case, HowTimed, Kind
from flashlearn.judging.speed import Counted, Timing
from flashlearn.lessons import find
from flashlearn.machine.timers import Measurement
from flashlearn.outcome import Caution, Outcome, OutputCheck, Status
from flashlearn.report import Report, differences, tile_picture
from flashlearn.report.tolerance import tolerance_note
from tests.report.test_report import ROWS, budgets, done, exercise, observation, report_of, words, wrong

DOCS = Path(__file__).parents[2] / "docs"


def folds(page: str) -> tuple[str, str]:
    """What is on the screen, and what is folded beneath it, as words."""
    first, _, rest = page.partition('<div class="fl-folds">')
    return words(first), words(rest)


def small(shape: tuple[int, ...], sizes: dict | None = None) -> Report:
    """A report on a small output that is off by 0.5 in its last element."""
    expected = torch.zeros(shape)
    got = expected.clone()
    got.reshape(-1)[-1] = 0.5
    outcome = Outcome(Case("small", sizes or {}), Status.WRONG, "p is off.", outputs=(wrong(got, expected),))
    return Report(exercise(), (outcome,))


def test_verdict_sentence_line_and_next_come_first_and_all_else_is_folded():
    report = check("row_sum", mistake_function(find("row_sum"), "no mask"))
    shown, folded = folds(report._repr_html_())
    for said in ("Out of bounds", "The load has no mask", "program (", "Next", "flashlearn.hint"):
        assert said in shown
    for said in ("First seen in case", f"of {len(report.outcomes)} cases pass", "verdict"):
        assert said in folded and said not in shown


def test_the_text_says_the_same_in_the_same_order():
    said = str(check("row_sum", mistake_function(find("row_sum"), "no mask")))
    order = [said.index(part) for part in ("Out of bounds", "Where", "Next", "Hint", "Evidence", "Cases")]
    assert order == sorted(order)


def test_a_pass_has_one_figure_and_nothing_unfolded():
    report = check("row_sum", solution(find("row_sum")))
    shown, _ = folds(report._repr_html_())
    assert f"All {len(report.outcomes)} cases pass." in shown and "each byte once." in shown
    assert "<details open" not in report._repr_html_()
    assert report.status is Status.PASS and "scaled_add" in report.verdict.next_step


def test_a_kernel_that_reads_bytes_twice_is_not_praised_for_moving_the_least():
    seen = observation()
    assert seen.bytes_requested > seen.bytes_unique
    case = Case("4096 × 64")
    asked = replace(exercise(), timed=HowTimed(case=case))
    counted = Counted(ROWS, 1e6, 1e6)
    timing = Timing(case.name, False, counted=counted, least_bytes=1e9, predictions={"H100": 1e-5})
    report = Report(asked, (Outcome(ROWS, Status.PASS, observation=seen),), timing=timing)
    assert report.verdict.highlight == ""


def test_a_prediction_is_no_headline_of_a_pass_without_a_gpu():
    asked = replace(exercise(), timed=HowTimed(case=Case("4096 × 64")))
    counted = Counted(ROWS, 2e6, 1e6)
    timing = Timing("4096 × 64", False, counted=counted, least_bytes=1e9, predictions={"H100": 1e-5})
    outcome = Outcome(ROWS, Status.PASS, outputs=(OutputCheck("p", True, 1e-7, 4e-7),))
    report = Report(asked, (outcome,), timing=timing)
    assert report.verdict.highlight == "The largest error is 25 % of what is allowed."
    shown, folded = folds(report._repr_html_())
    assert "10 µs" not in shown and "predicted, not measured, for 4096 × 64, fp32" in folded
    assert "At least 10 µs on an H100" in folded


def test_the_next_exercise_is_a_link_where_the_learner_has_its_lesson():
    report = replace(
        report_of(Status.PASS),
        follows="row_sum (The sum of each row), in this lesson.",
        links=(("row_sum", "00_tour.ipynb#cell-id=ex-row_sum"),),
    )
    link = '<a href="00_tour.ipynb#cell-id=ex-row_sum">row_sum</a> (The sum of each row), in this lesson.'
    assert link in report._repr_html_() and "<a" not in str(report)
    wrong = replace(report_of(Status.WRONG), links=report.links)
    assert "<a href" not in wrong._repr_html_()


def test_a_hint_has_a_button_for_jupyterlab_and_a_line_to_copy_for_all():
    page = report_of(Status.WRONG)._repr_html_()
    arguments = json.loads(html.unescape(re.search(r'data-commandlinker-args="([^"]+)"', page)[1]))
    assert arguments["commands"][-1].startswith("notebook:run-cell")
    call = arguments["args"]["text"]
    assert call.startswith("flashlearn.hint(") and f"<code>{html.escape(call)}</code>" in page.replace(
        "&#34;", "&quot;"
    )
    assert ".flashlearn .fl-press { display: none;" in page


def test_each_case_is_a_dot_that_says_its_name_and_verdict():
    outcomes = (
        Outcome(ROWS, Status.PASS),
        Outcome(Case("odd"), Status.WRONG),
        Outcome(ROWS, Status.NEEDS_GPU),
    )
    html = Report(exercise(), outcomes)._repr_html_()
    assert 'title="odd: wrong">✖<' in html and 'title="ragged 7×37: passed">●<' in html
    assert 'aria-label="1 of 3 cases passes"' in html
    assert "●✖◇" in str(Report(exercise(), outcomes))


@pytest.mark.parametrize("shape", [(1,), (5,), (), (2, 3), (1, 2, 2, 3), (32,)])
def test_a_small_output_is_shown_as_numbers_and_a_large_one_as_a_map(shape):
    report = small(shape, {"B": 1, "H": 2} if len(shape) == 4 else None)
    for said in (str(report), words(report._repr_html_())):
        assert "got" in said and "expected" in said and "difference" in said and "0.500" in said
    assert "<img" not in report._repr_html_()
    assert "<img" in small((33,))._repr_html_() and small((33,)).card.numbers is None


def test_the_rows_of_a_small_output_with_heads_say_where_they_lie():
    assert re.search(r"\[0, 1, 1\] .*0\.500", str(small((1, 2, 2, 3), {"B": 1, "H": 2})))


def test_the_reason_of_every_tolerance_stands_with_the_cases():
    report = check("row_sum", mistake_function(find("row_sum"), "padding is −inf"))
    assert "The allowed error is 2 times the largest error of plain torch" in words(report._repr_html_())
    assert "The allowed error is 2 times" in " ".join(str(report).split())
    gradient = Report(
        find("dq_kernel"), (Outcome(ROWS, Status.WRONG, outputs=(OutputCheck("dq", False, 1.0, 0.1),)),)
    )
    assert tolerance_note(gradient).startswith("The allowed error is 3 times")
    assert tolerance_note(Report(exercise(kind=Kind.SYMBOLIC), gradient.outcomes)) == ""


def test_the_page_on_differences_has_every_row_of_the_card():
    page = (DOCS / "interpreter-and-gpu.md").read_text()
    assert differences.PAGE == "docs/interpreter-and-gpu.md"
    for one in differences.DIFFERENCES:
        assert f"| {' | '.join(one)} |" in page
    passing = report_of(Status.PASS, budgets=done(*budgets()))
    assert differences.PAGE in str(passing) and differences.PAGE in passing._repr_html_()


def test_a_budget_and_a_time_name_the_types_and_sizes_they_are_for():
    made = tuple(replace(b, types="fp16", constants="BLOCK=64") for b in budgets())
    case = Case("4096 × 64", dtype=torch.bfloat16)
    timed = replace(exercise(), timed=HowTimed(case=case))
    timing = Timing(
        "NVIDIA H200",
        True,
        Measurement(1.0, 0.01, 9),
        {"torch.softmax": Measurement(2.0, 0.01, 9)},
        ratio=2.0,
    )
    report = Report(timed, report_of(Status.PASS).outcomes, timing=timing, budgets=done(*made), compiled=case)
    for said in (str(report), words(report._repr_html_())):
        assert "A100 (sm_80), k, in fp16" in said and "with BLOCK=64." in said
        assert "Compiled as launched for 4096 × 64, bf16." in said
        assert "2 times as fast as torch.softmax, on NVIDIA H200, 4096 × 64, bf16." in said
    predicted = replace(report, timing=Timing("4096 × 64", False, bytes=1e6, predictions={"H100": 1e-5}))
    assert "predicted, not measured, for 4096 × 64, bf16" in str(predicted)


def test_notes_are_folded_and_counted():
    outcome = Outcome(ROWS, Status.PASS, observation=observation(), warnings=(Caution("TF32", "It rounds."),))
    shown, folded = folds(Report(exercise(), (outcome,))._repr_html_())
    assert "1 note about GPUs" in folded and "It rounds." in folded and "It rounds." not in shown


def test_a_worse_error_is_a_darker_colour_on_the_map_s_own_ground():
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    scale = [tile_picture.GROUND, *tile_picture.WITHIN, *tile_picture.OVER]
    order = [lightness(colour) for colour in scale]
    assert order == sorted(order, reverse=True)
    assert (lightness(tile_picture.GROUND) + 0.05) / (lightness(tile_picture.GREY) + 0.05) > 7


def test_pictures_say_in_words_what_they_show():
    html = Report(
        exercise(), (Outcome(ROWS, Status.WRONG, outputs=(wrong(torch.ones(7, 37), torch.zeros(7, 37)),)),)
    )
    assert re.search(r'<img [^>]*alt="Map of error over allowed[^"]*259 of 259 elements', html._repr_html_())
