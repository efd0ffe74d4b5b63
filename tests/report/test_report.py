"""The report: every verdict readable in text and HTML, and nothing in it that a notebook must not run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import types
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from flashlearn.compiler import Budget
from flashlearn.course.check import next_exercise_sentence
from flashlearn.exercise import Case, Exercise, Grade, Kind, make_exercise
from flashlearn.explaining.findings.case_status import OutOfBounds
from flashlearn.explaining.findings.declared import Declared, DeclaredFault, Explained
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.two_mistakes import Besides
from flashlearn.explaining.scope import Scope
from flashlearn.judging.speed import Counted, Mark, Timing
from flashlearn.lessons import all_exercises
from flashlearn.machine import device
from flashlearn.machine.ceilings import Ceilings
from flashlearn.machine.timers import Measurement
from flashlearn.observation import Launch, Observation, Traffic
from flashlearn.outcome import Finding, FindingKind, Misfit, Outcome, OutputCheck, Place, Status, Wording
from flashlearn.report import (
    Report,
    character_map,
    display,
    tilemap,
    units,
)
from flashlearn.report.error_map import ErrorMap
from flashlearn.report.evidence import explanation_and_observation
from flashlearn.report.source import excerpt
from flashlearn.report.verdict_sentences import LONGEST_SENTENCE

ROOT = Path(__file__).parents[2]
KERNEL = """\
@triton.jit
def softmax_forward_kernel(x, p, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    s = tl.load(x + row * columns + offsets)
    s -= tl.max(s, axis=0)
    e = tl.exp(s)
    tl.store(p + row * columns + offsets, e / tl.sum(e, axis=0), mask=offsets < columns)
"""
ROWS = Case("ragged 7×37", {"rows": 7, "columns": 37})
BROKEN = [s for s in Status if s not in (Status.PASS, Status.TODO, Status.UNDECIDED, Status.NEEDS_GPU)]


def exercise(**changes) -> Exercise:
    """An exercise that is in no lesson, with an empty reference: reports never call it."""
    fields = {
        "name": "softmax_forward",
        "lesson": "99",
        "kind": Kind.KERNEL,
        "title": "Softmax, one row per program",
        "signature": "(x) -> p",
        "outputs": ("p",),
        "inputs": lambda case, generator: {},
        "reference": lambda: None,
        "cases": (),
    }
    return make_exercise(**fields | changes)


def wrong(
    got: torch.Tensor, expected: torch.Tensor, name: str = "p", allowed: float = 1e-3, writers=None
) -> OutputCheck:
    """The check of an output that is wrong, with its values."""
    error = (got.double() - expected.double()).abs().max().item()
    return OutputCheck(name, False, error, allowed, got=got, expected=expected.double(), writers=writers)


def observation() -> Observation:
    """The observation of a small launch."""
    launch = Launch(None, "softmax_forward_kernel", (7, 1, 1), {"x": "*fp32"}, {"BLOCK": 64}, {})
    traffic = {"x": Traffic(loaded=2072, unique_loaded=1036), "p": Traffic(stored=1036, unique_stored=1036)}
    return Observation(traffic, {"elementwise": 518, "reduce": 504, "special": 259}, [launch])


def report_of(status: Status, **changes) -> Report:
    """A report with one case of a status."""
    outcome = Outcome(ROWS, status, f"This is what {status.name} looks like.")
    return Report(exercise(), (outcome,), **changes)


def report_of_map(got, expected, case=ROWS, writers=None, **changes) -> Report:
    """A report whose one case is wrong in these values."""
    check = wrong(got, expected, writers=writers)
    return Report(exercise(), (Outcome(case, Status.WRONG, "p is off.", outputs=(check,)),), **changes)


def budgets() -> tuple[Budget, ...]:
    """A kernel that fits an H100 and that the compiler refuses for an A100."""
    fine = Budget(90, "H100", "k", registers=222, spill_bytes=0, shared_bytes=65536, occupancy=0.125, warps=4)
    return (
        Budget(80, "A100", "k", error="The inner dimension of a product is 8; it needs 16.", line=3),
        fine,
    )


def done(*values) -> Future:
    """A future that has its budgets."""
    future = Future()
    future.set_result(values)
    return future


def words(html: str) -> str:
    """The card's text without its tags and style."""
    return re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)


@pytest.mark.parametrize("status", list(Status))
def test_every_status_reads_in_text_and_in_html(status):
    report = report_of(status)
    said = words(report._repr_html_())
    for rendering in (str(report), said):
        assert status.value.lower() in rendering.lower()
        assert "softmax_forward" in rendering
    assert report.passed is (status is Status.PASS)


@pytest.mark.parametrize("status", BROKEN)
def test_a_failure_shows_its_sentence_a_next_step_and_the_hint(status):
    report = report_of(status, hints_taken=1)
    assert report.sentence == f"This is what {status.name} looks like."
    for rendering in (str(report), words(report._repr_html_()).replace("&#34;", '"')):
        assert report.sentence in rendering
        assert 'flashlearn.hint("softmax_forward")' in rendering
        assert "two hints left" in rendering
        assert ("Next" in rendering) is (status is not Status.CRASHED)  # its message has said what to do


@pytest.mark.parametrize("status", [Status.TODO, Status.NEEDS_GPU])
def test_not_started_and_needs_a_gpu_are_calm(status):
    html = report_of(status)._repr_html_()
    assert "fl-tone-calm" in html
    assert "fl-tone-fail" not in html.split("</style>")[1]
    assert "✗" not in str(report_of(status))


def test_a_stub_says_what_there_is_to_write_and_shows_the_signature():
    task = "load the row under its mask"
    outcome = Outcome(ROWS, Status.TODO, task, fault=("todo", "softmax_forward", task))
    report = Report(exercise(), (outcome,))
    assert report.sentence == "Yours to write: load the row under its mask."
    others = Outcome(ROWS, Status.TODO, fault=("todo", "row_kernel", "load the row"))
    assert Report(exercise(), (others,)).sentence == "Yours to write: row_kernel: load the row."
    without_name = Outcome(ROWS, Status.TODO, fault=("todo", "", "load the row"))
    assert Report(exercise(), (without_name,)).sentence == "Yours to write: load the row."
    assert "softmax_forward(x) -> p" in str(report)
    assert "Cases" not in str(report)


def test_the_first_status_that_applies_is_the_reports():
    outcomes = [Outcome(ROWS, s) for s in (Status.PASS, Status.WRONG, Status.OUT_OF_BOUNDS)]
    assert Report(exercise(), tuple(outcomes)).status is Status.OUT_OF_BOUNDS


def test_cases_that_need_a_gpu_do_not_spoil_a_pass_and_are_named():
    report = Report(exercise(), (Outcome(ROWS, Status.PASS), Outcome(ROWS, Status.NEEDS_GPU)))
    assert report.passed
    assert "1 more case needs a GPU" in report.sentence


def explained(name: str, sentence: str, next_step: str = "", **more) -> Finding:
    """A finding in an exercise's own words."""
    return Finding(Explained(sentence, next_step, (name,)), **more)


@dataclass(frozen=True)
class Odd(FindingKind):
    """A kind of finding whose facts may be anything."""

    name = "odd"

    known: Any

    def wording(self) -> Wording:
        return Wording("Something.")


def test_a_finding_speaks_before_the_outcome_and_keeps_what_was_seen():
    finding = explained("tail", "The tail is wrong.", "Look at other=.", fits=3, of=3)
    report = Report(exercise(), report_of(Status.WRONG).outcomes * 3, finding)
    assert report.sentence == "The tail is wrong."
    for rendering in (str(report), words(report._repr_html_())):
        assert "This is what WRONG looks like." in rendering
        assert "Look at other=." in rendering
        assert "explains all 3 failing cases" in " ".join(rendering.split())


def test_a_headline_has_both_what_was_seen_and_a_second_mistake():
    seen = "Program (1, 0, 0) reads x[5], but x has shape (4,)."
    fault = Finding(OutOfBounds(seen, ROWS.name, cause="mask"))
    both = Finding(Besides((fault, explained("no alpha", "Alpha is missing."))))
    headline = f"(1) {seen} (2) Some cases run to the end, with wrong results. Alpha is missing."
    assert explanation_and_observation(both, Outcome(ROWS, Status.OUT_OF_BOUNDS, seen)) == (headline, "")
    assert both.sentence == headline
    one = Finding(Besides((fault, explained("no alpha", "Alpha is missing.", fits=1, of=1))))
    assert "(2) One case runs to the end, with a wrong result. Alpha is missing." in one.sentence


def test_a_finding_that_repeats_what_was_seen_is_not_said_twice():
    seen = "Program (0, 0, 0) reads x[5]."
    outcome = Outcome(ROWS, Status.OUT_OF_BOUNDS, seen)
    declared = DeclaredFault(seen, ROWS.name, "There is no mask.", "", called=("no mask",))
    report = Report(exercise(), (outcome,), Finding(declared))
    assert str(report).count(seen) == 1
    assert "There is no mask." in str(report)


@pytest.mark.parametrize("fault", [(), ("changed input", "x")])
def test_a_wrong_shape_is_said_once_and_beside_another_sentence_in_full(fault):
    misfit = Misfit("shape", (7,), (7, 37))
    check = OutputCheck("p", False, problem="p has the wrong shape", misfit=misfit)
    outcome = Outcome(ROWS, Status.WRONG, "What the case says.", outputs=(check,), fault=fault)
    _, seen = explanation_and_observation(Finding(Shape("p", misfit, "another", ("p",))), outcome)
    assert seen == ("What the case says." if fault else "")


def test_the_source_line_is_marked_between_its_neighbours(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text(KERNEL)
    seen = Place(
        str(file), 6, "s = tl.load(x + row * columns + offsets)", "softmax_forward_kernel", (6, 0, 0)
    )
    report = Report(exercise(), (Outcome(ROWS, Status.OUT_OF_BOUNDS, "Out.", place=seen),))
    # the line has another text now: only the recorded one is shown
    assert [line.text for line in excerpt(seen).lines] == [seen.text]
    shown = excerpt(Place(str(file), 5, seen.text)).lines
    assert [(line.number, line.marked) for line in shown] == [(n, n == 5) for n in range(3, 8)]
    assert "Line 6 of softmax_forward_kernel in cell.py, program (6, 0, 0)" in str(report)


def test_the_course_s_own_kernels_are_shown_without_their_authors_marks(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text("a = 1\nb = 2\n### BEGIN SOLUTION\n# STUB: pass\nc = 3\n### END SOLUTION\nd = 4\n")
    shown = excerpt(Place(str(file), 5, "c = 3")).lines
    assert [(line.number, line.text) for line in shown] == [
        (1, "a = 1"),
        (2, "b = 2"),
        (5, "c = 3"),
        (7, "d = 4"),
    ]


def test_what_a_learner_wrote_is_escaped():
    evil = "<img src=x onerror=alert(1)>"
    place = Place("", 3, evil, evil)
    check = OutputCheck("p", False, problem=evil + "!")
    case = Case(evil, {evil: 3})
    outcome = Outcome(case, Status.WRONG, evil, evil, place, (check,), warnings=(evil,))
    budget = Budget(80, "A100", error=evil, line=3, text=evil)
    html = Report(
        exercise(name=evil, title=evil),
        (outcome,),
        explained("m", evil, evil, place=place),
        budgets=done(budget),
    )._repr_html_()
    assert "<img src=x" not in html
    assert html.count("&lt;img") > 8


def test_brackets_in_a_learners_text_are_no_markup_in_the_terminal():
    outcome = Outcome(ROWS, Status.CRASHED, "IndexError: [bold]x[/nothing] :smile:")
    assert "IndexError: [bold]x[/nothing] :smile:" in str(Report(exercise(), (outcome,)))


def test_the_card_runs_no_script_and_fetches_nothing():
    values = torch.rand(40, 30)
    html = report_of_map(values + 1, values, budgets=done(*budgets()))._repr_html_()
    assert "<img" in html
    for part in ("<script", "http", "url(", "@import", "onclick"):
        assert part not in html


def test_style_is_confined_to_the_card():
    style = report_of(Status.PASS)._repr_html_().split("<style>")[1].split("</style>")[0]
    selectors = [
        s.strip()
        for rule in re.findall(r"([^{}]+)\{", re.sub(r"/\*.*?\*/", "", style, flags=re.S))
        for s in rule.split(",")
    ]
    assert selectors
    assert all(".flashlearn" in selector for selector in selectors), "others hold only where a card is"


def test_of_many_cases_the_interesting_ones_are_shown_and_the_rest_is_folded():
    passed = [
        Outcome(Case(f"case {i}"), Status.PASS, outputs=(OutputCheck("p", True, i * 1e-8, 1e-6),))
        for i in range(12)
    ]
    table = Report(exercise(), tuple(passed))._repr_html_().split('<table class="fl-cases">', 1)[1]
    shown, folded = table.split("9 more cases pass")
    assert "case 11" in shown
    assert "case 2<" not in shown
    assert "case 2<" in folded
    failing = Outcome(Case("odd one"), Status.WRONG, outputs=(OutputCheck("p", False, 1.0, 1e-6),))
    table = Report(exercise(), (*passed, failing))._repr_html_().split('<table class="fl-cases">', 1)[1]
    shown = table.split("12 more cases pass")[0]
    assert "odd one" in shown
    assert "case 11" not in shown


def test_each_output_of_a_failing_case_has_its_row():
    checks = (OutputCheck("dk", False, 1.0, 0.01), OutputCheck("dv", True, 0.001, 0.01))
    outcome = Outcome(ROWS, Status.WRONG, outputs=checks)
    said = str(Report(exercise(outputs=("dk", "dv")), (outcome,)))
    assert re.search(r"dk +1 +0\.01 .* 100", said)
    assert re.search(r"dv +0\.001 +0\.01 .* 0\.1", said)


def test_an_error_hidden_from_the_maximum_is_explained():
    check = OutputCheck("p", False, 1e-4, 1e-3, rms_ratio=1.8)
    said = str(Report(exercise(), (Outcome(ROWS, Status.WRONG, "p is noisy.", outputs=(check,)),)))
    assert "root mean square error is 1.8 times" in said


def test_the_tile_map_marks_the_wrong_tile():
    expected, got = torch.zeros(64, 96), torch.zeros(64, 96)
    got[32:, 64:] = 0.05
    writers = torch.arange(64)[:, None] // 32 * 3 + torch.arange(96)[None] // 32
    tiles = report_of_map(got, expected, writers=writers).tiles
    (panel,) = tiles.panels
    assert panel.ratio[32:, 64:].min() == pytest.approx(50)
    assert panel.ratio[:32].max() == 0
    assert tilemap.edges(panel, 0).tolist() == [32]
    assert tilemap.edges(panel, 1).tolist() == [32, 64]
    assert (
        "One of 6 programs stored them, the one that owns rows 32 to 63 and columns 64 to 95" in tiles.summary
    )


def test_the_text_map_marks_the_wrong_tile():
    expected, got = torch.zeros(64, 96), torch.zeros(64, 96)
    got[32:, 64:] = 0.05
    writers = torch.arange(64)[:, None] // 32 * 3 + torch.arange(96)[None] // 32
    lines = [
        line.split("┃")[1]
        for line in character_map.characters(report_of_map(got, expected, writers=writers).tiles)[1:-1]
    ]
    right = "│".join(["·" * 16] * 3)
    assert lines == [right] * 8 + [""] + ["│".join(["·" * 16, "·" * 16, "▒" * 16])] * 8


def test_nan_and_never_written_are_distinguished_from_wrong():
    expected, got = torch.zeros(40), torch.zeros(40)
    got[5], got[30:] = float("inf"), float("nan")
    writers = torch.arange(40) // 10
    writers[30:] = -1
    tiles = report_of_map(got, expected, Case("n", {"n": 40}), writers).tiles
    assert tiles.strip
    assert tiles.axes[1] == "n"
    (panel,) = tiles.panels
    assert (int(panel.not_finite.sum()), int(panel.unwritten.sum())) == (1, 10)
    assert "11 of 40 elements are wrong" in tiles.summary
    assert character_map.characters(tiles)[1].strip() == "·····N····│··········│··········│??????????"


def test_elements_that_were_never_written_but_are_right_are_not_marked():
    expected, got = torch.zeros(8), torch.zeros(8)
    got[0] = 1
    writers = torch.tensor([0] + [-1] * 7)
    (panel,) = report_of_map(got, expected, writers=writers).tiles.panels
    assert int(panel.unwritten.sum()) == 0


def test_the_worst_head_of_four_dimensions_comes_first_and_is_named():
    expected = torch.randn(2, 3, 20, 8)
    got = expected.clone()
    got[1, 2, 10:] += 1
    got[0, 1, 3, 3] += 0.1
    tiles = report_of_map(got, expected, Case("c", {"B": 2, "H": 3, "S_q": 20, "D": 8})).tiles
    assert [panel.title for panel in tiles.panels] == ["batch 1, head 2", "batch 0, head 1"]
    assert tiles.rest == "2 of 6 heads are shown; the other 4 are right."
    assert tiles.axes == ("S_q", "D")
    assert "81 of 960 elements are wrong" in tiles.summary


@pytest.mark.parametrize("shape", [(1, 1, 2), (2,), (3, 1), (1, 5), (3000,), (700, 3), (300, 900)])
def test_outputs_of_any_shape_get_a_map_and_a_picture(shape):
    expected = torch.zeros(shape)
    report = report_of_map(expected + 1, expected, writers=torch.arange(expected.numel()).reshape(shape))
    assert ErrorMap(report.tiles).picture.startswith(b"\x89PNG")
    assert len(character_map.characters(report.tiles)) <= 2 + 2 * character_map.ROWS
    assert max(map(len, str(report).splitlines())) <= 100


def test_shapes_that_differ_and_sympy_answers_have_no_map():
    check = OutputCheck(
        "p", False, problem="p is [2], expected [3]", got=torch.ones(2), expected=torch.ones(3)
    )
    assert Report(exercise(), (Outcome(ROWS, Status.WRONG, outputs=(check,)),)).tiles is None
    symbolic = OutputCheck("J", False, got="x", expected="y")
    assert (
        Report(exercise(kind=Kind.SYMBOLIC), (Outcome(ROWS, Status.WRONG, outputs=(symbolic,)),)).tiles
        is None
    )


def test_the_picture_leaves_the_learners_matplotlib_alone():
    import matplotlib

    matplotlib.rcParams["axes.facecolor"] = "pink"
    try:
        before = dict(matplotlib.rcParams)
        pyplot = "matplotlib.pyplot" in sys.modules
        assert report_of_map(torch.ones(7, 7), torch.zeros(7, 7)).card.error_map.picture
        assert dict(matplotlib.rcParams) == before
        assert ("matplotlib.pyplot" in sys.modules) is pyplot
    finally:
        matplotlib.rcdefaults()


def test_a_report_without_a_map_does_not_import_matplotlib():
    script = (
        "import sys; sys.path.insert(0, 'tests/report'); import test_report as t\n"
        "t.report_of(t.Status.CRASHED)._repr_html_(); print('matplotlib' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.strip() == "False", ran.stderr


def test_traffic_operations_and_intensity_are_shown():
    outcome = Outcome(
        ROWS, Status.PASS, outputs=(OutputCheck("p", True, 0.0, 1.0),), observation=observation()
    )
    for rendering in (
        str(Report(exercise(), (outcome,))),
        words(Report(exercise(), (outcome,))._repr_html_()),
    ):
        assert "loaded (unique)" in rendering
        assert "2 KiB" in rendering
        assert "1.3 k operations" in rendering
        assert "0.41 operations per requested byte, 0.62 per unique byte" in " ".join(rendering.split())


def test_unique_bytes_have_no_column_where_no_byte_moves_twice():
    seen = Observation({"x": Traffic(loaded=4, unique_loaded=4)}, {"elementwise": 1})
    said = str(Report(exercise(), (Outcome(ROWS, Status.PASS, observation=seen),)))
    assert "unique" not in said
    assert "no byte moves twice" in said
    nearly = Observation({"x": Traffic(loaded=4004, unique_loaded=4000)}, {"elementwise": 4000})
    said = str(Report(exercise(), (Outcome(ROWS, Status.PASS, observation=nearly),)))
    assert "no byte moves twice" not in said and "per unique byte" in said
    both = Traffic(loaded=4, unique_loaded=4, stored=4, unique_stored=4)
    partial = Observation({"part": both}, {"elementwise": 1})
    said = " ".join(str(Report(exercise(), (Outcome(ROWS, Status.PASS, observation=partial),))).split())
    assert "no byte moves twice" not in said and "no byte is loaded or stored twice" in said


def test_a_measurement_names_the_peer_and_a_prediction_says_what_it_is():
    said = str(report_of(Status.PASS, timing=against_softmax(0.0512, 0.0448)))
    assert "measured on NVIDIA H200" in said
    assert "1.1 times as long as torch.softmax" in said
    timing = Timing(
        "4096×4096",
        False,
        predictions={"H100": 1e-5, "RTX 4090": 3.3e-5},
        least_bytes=3.35e7,
    )
    said = str(report_of(Status.PASS, timing=timing))
    assert "predicted, not measured" in said
    assert "At least 10 µs on an H100, limited by memory." in said
    assert "At least 33 µs on an RTX 4090" in said


def against_softmax(own: float, peer: float, spread: float = 0.01, **more) -> Timing:
    """A measured time beside torch's, both in milliseconds."""
    peers = {"torch.softmax": Measurement(peer, 0.01, 9)}
    return Timing("NVIDIA H200", True, Measurement(own, spread, 9), peers, ratio=peer / own, **more)


def test_an_unsteady_time_says_so_wherever_it_is_shown():
    steady = str(report_of(Status.PASS, timing=against_softmax(0.05, 0.04)))
    assert "±" not in steady
    report = report_of(Status.PASS, timing=against_softmax(0.05, 0.04, spread=0.12))
    assert "50 µs ± 6 %" in str(report) and "± is the spread of single runs" in str(report)
    assert report.verdict.highlight.endswith(", but single runs vary by more than 5 %.")


def test_the_best_grade_that_is_reached_comes_first_and_the_next_one_says_what_it_needs():
    grades = (Grade("bronze", 0.5, "flash"), Grade("silver", 1.0, "flash"), Grade("gold", 0.9, "cuDNN"))
    marks = tuple(Mark(grade, ratio) for grade, ratio in zip(grades, (1.1, 1.1, 0.7), strict=True))
    report = report_of(Status.PASS, timing=against_softmax(0.04, 0.06, marks=marks))
    assert report.verdict.highlight.startswith("Silver: 1.5 times as fast as torch.softmax")
    said = " ".join(str(report).split())
    assert "Gold needs 0.90 × the speed of cuDNN; yours reaches 0.70 ×." in said


def test_rates_are_shares_of_what_the_same_gpu_reaches():
    there = {"least_bytes": 1e9, "bytes": 1e9, "operations": 1e11, "reached": Ceilings(4e14, 4e12)}
    said = " ".join(str(report_of(Status.PASS, timing=against_softmax(1.0, 1.0, half=True, **there))).split())
    assert "1 TB/s, 25 % of what a large copy reaches on this GPU." in said
    assert "100 TFLOP/s, 25 % of what a large matrix product reaches on this GPU." in said
    single = " ".join(str(report_of(Status.PASS, timing=against_softmax(1.0, 1.0, **there))).split())
    assert "a large matrix product" not in single  # it is of half precision


@pytest.mark.parametrize(("moved", "beside"), [(2e8, "; the minimum is 95.4 MiB."), (1e8, ".")])
def test_what_a_small_case_moved_is_reported_of_that_case(moved: float, beside: str):
    counted = Counted(ROWS, moved, 1e8)
    timing = Timing("4096×4096", False, predictions={"H100": 1e-5}, least_bytes=1e9, counted=counted)
    shown = " ".join(str(report_of(Status.PASS, timing=timing)).split())
    assert f"in case “ragged 7×37, fp32”, each byte counted once{beside}" in shown


def test_the_text_is_text_inside_jupyter_too(monkeypatch):
    outside = str(report_of(Status.WRONG))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert str(report_of(Status.WRONG)) == outside


def test_a_demonstration_says_so_and_offers_no_hint():
    for rendering in (
        str(report_of(Status.WRONG, demo=True)),
        report_of(Status.WRONG, demo=True)._repr_html_(),
    ):
        assert "demonstration, not recorded" in rendering
        assert "flashlearn.hint" not in rendering


def test_what_follows_a_pass_is_the_next_exercise_of_the_course():
    course = list(all_exercises().values())
    follows = next_exercise_sentence(course[0])
    assert course[1].name in follows
    assert follows.removesuffix(".") in " ".join(
        str(Report(course[0], (Outcome(ROWS, Status.PASS),), follows=follows)).split()
    )
    assert "Next" not in str(report_of(Status.PASS, demo=True))


def test_a_pass_that_completes_a_lesson_says_so():
    course = [exercise for exercise in all_exercises().values() if exercise.lesson in ("00", "01")]
    last = max(index for index, exercise in enumerate(course) if exercise.lesson == "00")
    assert next_exercise_sentence(course[last]).startswith(
        "That was the last exercise of lesson 00. Lesson 01 begins"
    )
    ends = next_exercise_sentence(course[last], completes=True)
    assert ends.startswith("With this, lesson 00 is complete. Lesson 01 begins with")
    out_of_order = next_exercise_sentence(course[0], completes=True)
    assert out_of_order == "With this, lesson 00 is complete. `flashlearn.status()` shows what is next."


def test_compiled_budgets_are_a_table_and_a_refusal_names_its_line():
    report = report_of(Status.PASS, budgets=done(*budgets()))
    for rendering in (str(report), words(report._repr_html_())):
        assert "The inner dimension of a product is 8; it needs 16." in rendering
        assert "Line 3" in rendering
        assert "222" in rendering
        assert "64 KiB" in rendering
        assert "12 %" in rendering


def test_a_compilation_that_broke_is_a_sentence():
    broken, stopped = Future(), Future()
    broken.set_exception(OSError("no compiler"))
    stopped.cancel()
    assert "did not finish: no compiler" in str(report_of(Status.PASS, budgets=broken))
    assert "was stopped" in str(report_of(Status.PASS, budgets=stopped))


class Screen:
    """A replacement for IPython's display and its handle, with the cards that were shown."""

    def __init__(self, broken: bool = False):
        self.shown: list[str] = []
        self.broken = broken

    def display(self, bundle, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(bundle["text/html"])
        return self

    def update(self, bundle, raw):
        if self.broken:
            raise RuntimeError("the kernel is shutting down")
        self.shown.append(bundle["text/html"])


@pytest.fixture
def screen(monkeypatch):
    """A notebook without Jupyter."""
    screen = Screen()
    monkeypatch.setattr(display, "in_a_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=screen.display))
    monkeypatch.delenv("FLASHLEARN_WAIT", raising=False)
    return screen


def test_the_card_fills_itself_in_when_the_budgets_arrive(screen, monkeypatch):
    monkeypatch.setattr(device, "present", lambda: None)
    future = Future()
    report_of(Status.PASS, budgets=future)._ipython_display_()
    assert "Compiling for A100, RTX 4090 and H100" in screen.shown[0]
    worker = threading.Thread(target=future.set_result, args=(budgets(),))
    worker.start()
    worker.join()
    assert len(screen.shown) == 2
    assert "Compiling" not in screen.shown[1]
    assert "222" in screen.shown[1]


def test_a_card_whose_budgets_are_there_is_shown_once(screen):
    report_of(Status.PASS, budgets=done(*budgets()))._ipython_display_()
    assert len(screen.shown) == 1
    assert "222" in screen.shown[0]


def test_budgets_that_arrive_while_the_kernel_shuts_down_are_ignored(screen, caplog):
    future = Future()
    report_of(Status.PASS, budgets=future)._ipython_display_()
    screen.broken = True
    future.set_result(budgets())
    assert not caplog.records


def test_flashlearn_wait_shows_the_complete_card_at_once(screen, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_WAIT", "1")
    future = Future()
    threading.Timer(0.01, future.set_result, args=(budgets(),)).start()
    report_of(Status.PASS, budgets=future)._ipython_display_()
    assert len(screen.shown) == 1
    assert "222" in screen.shown[0]


def test_without_a_notebook_the_report_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(display, "in_a_notebook", lambda: False)
    report = report_of(Status.WRONG)
    report._ipython_display_()
    assert capsys.readouterr().out.strip() == str(report)


def test_text_has_colour_only_when_asked_for():
    assert "\x1b[" not in str(report_of(Status.WRONG))
    assert "\x1b[" in report_of(Status.WRONG).text(colour=True)


def test_a_report_goes_through_json_and_back():
    outcome = Outcome(
        ROWS,
        Status.WRONG,
        "p is off.",
        place=Place("cell.py", 3, "x", program=(1, 0, 0)),
        outputs=(wrong(torch.full((7, 37), float("nan")), torch.zeros(7, 37)),),
        observation=observation(),
    )
    finding = Finding(Odd({"factor": torch.tensor(2.0), "where": torch.ones(3), "others": (2, {3})}))
    timing = Timing("n", False, predictions={"H100": 1e-5})
    report = Report(exercise(), (outcome,), finding, timing, done(*budgets()))
    record = report.to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["status"] == "WRONG"
    assert record["cases"][0]["outputs"][0]["error"] is None
    assert record["cases"][0]["observation"]["launches"][0]["constexprs"] == {"BLOCK": 64}
    assert record["finding"]["facts"] == {"known": {"factor": 2.0, "where": "fp32[3]", "others": [2, [3]]}}
    assert record["budgets"][1]["registers"] == 222
    assert report_of(Status.TODO, budgets=Future()).to_dict()["budgets"] is None


def test_a_long_message_is_cut_and_shown_in_full_below():
    message = "word " * 200 + "end"
    report = Report(exercise(), (Outcome(ROWS, Status.CRASHED, message),))
    assert len(report.verdict.headline) <= LONGEST_SENTENCE
    assert report.card.evidence.detail == message


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (3.14159e-5, "3.1e-5"), (0.0314, "0.031"), (31.4, "31"), (5678, "5700"), (2e6, "2.0e6")],
)
def test_errors_have_two_significant_figures(value, text):
    assert units.number(value) == text


def test_bytes_and_times_have_the_unit_that_fits():
    assert [units.byte_size(n) for n in (0, 512, 1036, 49152, 2**27)] == [
        "0 B",
        "512 B",
        "1 KiB",
        "48 KiB",
        "128 MiB",
    ]
    assert [units.duration(s) for s in (0.42, 3.14159, 5.12e-5, 4e-9)] == [
        "0.42 s",
        "3.14 s",
        "51.2 µs",
        "4 ns",
    ]


def test_a_programs_block_is_described_by_head_rows_and_columns():
    expected, got = torch.zeros(1, 2, 64, 32), torch.zeros(1, 2, 64, 32)
    got[0, 1, 32:, :16] = 1
    tile = torch.arange(64)[:, None] // 32 * 2 + torch.arange(32)[None] // 16
    writers = torch.stack([tile, tile + 4])[None]
    case = Case("c", {"B": 1, "H": 2, "S_q": 64, "D": 32})
    said = report_of_map(got, expected, case, writers).tiles.summary
    assert "the one that owns rows 32 to 63 and columns 0 to 15 of head 1." in said


def test_elements_that_form_no_block_are_not_described_as_one():
    expected, got = torch.zeros(40), torch.zeros(40)
    got[::2] = 1
    said = report_of_map(got, expected, Case("n", {"n": 40}), torch.arange(40) % 2).tiles.summary
    assert said.endswith("One of 2 programs stored them.")


def test_a_row_of_symbolic_outputs_names_all_and_marks_the_wrong_ones():
    checks = (OutputCheck("registers", True, got="x"), OutputCheck("occupancy", False, got="y"))
    asked = exercise(kind=Kind.SYMBOLIC, outputs=("registers", "occupancy"))
    failed = Report(asked, (Outcome(ROWS, Status.WRONG, outputs=checks),) * 2).card.cases
    assert [row.output.replace("\xa0", " ") for row in failed.shown] == ["✓ registers  ✗ occupancy"] * 2
    right = tuple(replace(check, ok=True) for check in checks)
    passed = Report(asked, (Outcome(ROWS, Status.PASS, outputs=right),) * 2).card.cases
    assert [row.output.replace("\xa0", " ") for row in passed.shown] == ["✓ registers  ✓ occupancy"] * 2


def test_a_case_that_says_what_it_found_shows_neither_sizes_nor_figures():
    asked = exercise(says=lambda case: "Mutant 1 survives.")
    outcome = Outcome(ROWS, Status.WRONG, "Mutant 1 survives.", outputs=(OutputCheck("p", False, 1.0, 0.0),))
    table = Report(asked, (outcome, outcome)).card.cases
    assert not table.sizes
    assert not table.numbers


def test_words_between_backticks_are_code_and_still_escaped():
    finding = explained("m", "`x <b>` is loaded as `None`.")
    html = replace(report_of(Status.WRONG), finding=finding)._repr_html_()
    assert "<code>x &lt;b&gt;</code> is loaded as <code>None</code>." in html


def test_an_answer_of_the_wrong_form_is_not_to_be_worked_through_by_hand():
    check = OutputCheck("p", False, problem="2 values are asked for", got="x")
    asked = exercise(kind=Kind.SYMBOLIC)
    report = Report(asked, (Outcome(ROWS, Status.WRONG, "2 values.", outputs=(check,)),))
    assert "by hand" not in report.verdict.next_step
    check = OutputCheck("p", False, got="x", expected="y")
    report = Report(asked, (Outcome(ROWS, Status.WRONG, "No.", outputs=(check,)),))
    assert "by hand" in report.verdict.next_step


def test_a_share_in_the_sentence_is_not_repeated():
    declared = Declared("A mask is missing.", "", Scope("part", share=(2, 3)), ("m",))
    told = Finding(declared, fits=2, of=3, partial=True)
    assert "2 of the 3 failing cases" in told.sentence
    outcomes = report_of(Status.WRONG).outcomes * 3
    assert "of the 3 failing" not in Report(exercise(), outcomes, told).card.evidence.support
    silent = replace(told, kind=replace(declared, scope=None))
    assert (
        "reproduces the numbers of 2 of the 3 failing cases: check again"
        in Report(exercise(), outcomes, silent).card.evidence.support
    )


def test_an_explanation_that_also_fits_the_cases_that_pass_says_why_they_do():
    outcomes = (*report_of(Status.WRONG).outcomes, Outcome(ROWS, Status.PASS), Outcome(ROWS, Status.PASS))
    finding = explained("tail", "The tail is wrong.", fits=3, of=3)
    said = Report(exercise(), outcomes, finding).card.evidence.support
    assert "2 of 3 cases pass" in said
    assert "explains the failing case; in those that pass, the mistake makes no difference" in said


def test_the_evidence_does_not_repeat_what_the_headline_quotes():
    seen = "Program (0, 0, 0) reads x[5], but x has shape (4,). 3 of the 8 lanes are outside."
    told = explained("bounds", f"{seen} The load has no mask.")
    outcome = replace(report_of(Status.OUT_OF_BOUNDS).outcomes[0], message=f"{seen} All are masked.")
    assert Report(exercise(), (outcome,), told).card.evidence.observation == "All are masked."


def test_no_fit_speaks_of_all_of_one_or_two_cases():
    failing, passing = report_of(Status.WRONG).outcomes[0], Outcome(ROWS, Status.PASS)
    for count in (2, 3, 4):
        for fits in range(1, count + 3):
            for passed in range(3):
                told = explained("tail", "The tail is wrong.", fits=fits, of=max(fits, count))
                outcomes = (failing,) * count + (passing,) * passed
                support = Report(exercise(), outcomes, told).card.evidence.support
                assert not re.search(r"\b1 \w*\s?cases\b|\ball [12]\b|\b1 of the 1\b", support), support


def test_dataclasses_in_a_findings_facts_become_plain_data():
    facts = {"unread": [Place("cell.py", 3, "x"), units], "check": OutputCheck("p", True)}
    finding = Finding(Odd(facts))
    record = replace(report_of(Status.WRONG), finding=finding).to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["finding"]["facts"]["known"]["check"]["name"] == "p"
