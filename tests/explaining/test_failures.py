"""A stage of explaining that raises takes nothing with it: the verdict stands, the report renders, and it is
noted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from flashlearn import explaining
from flashlearn.checking import grade, steps
from flashlearn.course import answers, failure_log
from flashlearn.exercise import Exercise
from flashlearn.explaining import formulas, pipeline
from flashlearn.explaining import stage as stage_module
from flashlearn.explaining.findings import RULES
from flashlearn.explaining.findings.zero_sign_constants import Sign
from flashlearn.lessons import find
from flashlearn.outcome import Finding, FindingKind, Status
from flashlearn.report import Report


@triton.jit
def sums_kernel(x_ptr, out_ptr, n, row, upto, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * row + j, mask=j < upto, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x.to(tl.float32), axis=0))


def sums(x: torch.Tensor, upto: int) -> torch.Tensor:
    out = torch.empty(x.shape[0], dtype=x.dtype)
    block = triton.next_power_of_2(x.shape[1])
    sums_kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), upto, BLOCK=block)
    return out


def lacks_a_column(x: torch.Tensor) -> torch.Tensor:
    return sums(x.contiguous(), x.shape[1] - 1)


def in_one_row(x: torch.Tensor) -> torch.Tensor:
    return sums(x.contiguous(), x.shape[1])[None]


def reads_beyond(x: torch.Tensor) -> torch.Tensor:
    """Out of bounds in the first case, wrong in the second."""
    return sums(x.contiguous(), 1 << 20) if x.shape[1] == COLUMNS else lacks_a_column(x)


ROW_SUM = replace(find("row_sum"), cases=find("row_sum").cases[1:3])
COLUMNS = ROW_SUM.cases[0].sizes["columns"]
SYMBOLIC = find("matmul_traffic")


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("a fault of ours")


def nothing(*_: object, **__: object) -> None:
    return None


LISTS = ((pipeline, "WRONG_NUMBERS"), (pipeline, "ENDED_EARLY"), (formulas, "FORMULAS"))


def with_stages(monkeypatch, change: Callable[[pipeline.Stage], Callable]) -> None:
    """Let every stage look with what `change` gives for it."""
    for module, name in LISTS:
        stages = tuple(replace(stage, find=change(stage)) for stage in getattr(module, name))
        monkeypatch.setattr(module, name, stages)


@pytest.fixture(autouse=True)
def kept(flashlearn_home) -> None:
    failure_log.install()


def stands(report: Report, status: Status, stage: str) -> None:
    """The verdict is there, it can be shown, and what failed is noted."""
    assert report.status is status
    assert report.exercise.name in str(report) and report.exercise.name in report._repr_html_()
    noted = failure_log.entries()
    assert stage in [failure.stage for failure in noted], "the stage was not reached"
    assert {failure.error for failure in noted} == {"ZeroDivisionError: a fault of ours"}
    assert "raise ZeroDivisionError" in "\n".join(noted[-1].traceback)


@pytest.mark.parametrize("stage", [s.name for s in pipeline.WRONG_NUMBERS if s.name != "own explanation"])
def test_a_stage_that_raises_leaves_the_verdict(stage, monkeypatch):
    with_stages(monkeypatch, lambda one: broken if one.name == stage else nothing)
    stands(grade(ROW_SUM, lacks_a_column, answers.earlier_answer), Status.WRONG, stage)


@pytest.mark.parametrize("stage", [s.name for s in pipeline.ENDED_EARLY])
def test_a_stage_that_raises_leaves_the_verdict_of_a_case_that_ended_early(stage, monkeypatch):
    with_stages(monkeypatch, lambda one: broken if one.name == stage else nothing)
    stands(grade(ROW_SUM, reads_beyond, answers.earlier_answer), Status.OUT_OF_BOUNDS, stage)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_that_raises_is_passed_over(rule, monkeypatch):
    for other in RULES:
        monkeypatch.setattr(other, "look", broken if other is rule else nothing)
    with_stages(monkeypatch, lambda one: one.find if one.name.startswith("rules") else nothing)
    answer = in_one_row if rule.about_form else lacks_a_column
    stands(grade(ROW_SUM, answer, answers.earlier_answer), Status.WRONG, f"rule: {rule.name}")


def test_the_other_stages_go_on(monkeypatch):
    with_stages(monkeypatch, lambda one: broken if one.name == "undefined lanes" else one.find)
    whole = grade(ROW_SUM, lacks_a_column, answers.earlier_answer)
    monkeypatch.undo()
    assert whole.finding == grade(ROW_SUM, lacks_a_column, answers.earlier_answer).finding is not None


class Speechless(FindingKind):
    """A kind without words."""

    name = "speechless"

    def __init__(self, *parts: Finding):
        self.parts = parts


def test_a_finding_that_cannot_be_put_into_words_is_told_by_its_parts_or_not_at_all():
    nonsense, sign = Finding(Speechless()), Finding(Sign("m"))
    assert explaining.with_wording(ROW_SUM, nonsense) is None
    assert explaining.with_wording(ROW_SUM, Finding(Speechless(nonsense, sign))) == sign
    assert failure_log.entries()[-1].stage == "words"


def test_what_an_exercise_says_itself_may_fail_too(monkeypatch):
    with_stages(monkeypatch, lambda one: one.find if one.name == "own explanation" else nothing)
    explains = replace(ROW_SUM, explained=replace(ROW_SUM.explained, explain=broken))
    stands(grade(explains, lacks_a_column, answers.earlier_answer), Status.WRONG, "own explanation")


@pytest.mark.parametrize("stage", [s.name for s in formulas.FORMULAS])
def test_a_symbolic_answer_keeps_its_verdict(stage, monkeypatch):
    with_stages(monkeypatch, lambda one: broken if one.name == stage else nothing)
    report = grade(SYMBOLIC, lambda M, N, K, B_M, B_N, B_K, e: M * N * K * e, answers.earlier_answer)
    stands(report, Status.WRONG, stage)


def test_a_review_that_fails_is_neither_a_pass_nor_a_crash():
    def right(x):
        return sums(x.contiguous(), x.shape[1])

    reviewed: Exercise = replace(ROW_SUM, judged=replace(ROW_SUM.judged, review=broken))
    report = grade(reviewed, right, answers.earlier_answer)
    assert not report.passed
    stands(report, Status.UNDECIDED, "review")
    assert "Every case passes" in report.sentence and "ZeroDivisionError" in report.sentence


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_to_end_a_check_ends_it(error, monkeypatch):
    def stops(*_: object, **__: object) -> None:
        raise error

    with_stages(monkeypatch, lambda one: stops if one.name == "declared mistakes" else nothing)
    with pytest.raises(error):
        grade(ROW_SUM, lacks_a_column, answers.earlier_answer)


def test_an_explanation_that_fails_as_a_whole_leaves_the_verdict(monkeypatch):
    monkeypatch.setattr(steps, "diagnose", broken)
    stands(grade(ROW_SUM, lacks_a_column, answers.earlier_answer), Status.WRONG, "explaining")


def test_what_python_warns_of_while_something_is_tried_is_not_shown(recwarn):
    def warns(x: int) -> int:
        warnings.warn("a condition that is none", UserWarning, stacklevel=1)
        return x

    assert stage_module.attempted(find("row_sum"), "a trial", warns, 3) == 3
    assert not recwarn.list
