"""A stage of explaining that raises takes nothing with it: the verdict stands, the report renders, and it is
noted."""

from __future__ import annotations

import ast
import importlib
import inspect
import warnings
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from flashlearn import checking, explaining
from flashlearn.checking import grade
from flashlearn.course import answers, failure_log
from flashlearn.exercise import Exercise
from flashlearn.explaining import PLACES, SURE
from flashlearn.explaining import failures as failures_of
from flashlearn.lessons import find
from flashlearn.outcome import Status, untyped
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


def stages() -> Iterator[tuple[str, object, str]]:
    """Every stage that the grader attempts, with the module and the name of the function that looks."""
    for module in (explaining, checking):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "attempted":
                _, stage, look, *_ = node.args
                if not isinstance(stage, ast.Constant):
                    continue  # the rules, by their kinds
                where = getattr(module, look.value.id) if isinstance(look, ast.Attribute) else module
                yield stage.value, where, look.attr if isinstance(look, ast.Attribute) else look.id


STAGES = {stage: (module, name) for stage, module, name in stages()}
OF_MEMORY = ("status", "named besides", "edit and mistake")
OF_FORMULAS = ("symbolic", "edit of a formula")


@pytest.fixture(autouse=True)
def kept(flashlearn_home) -> None:
    failure_log.keep_from_now_on()


def stands(report: Report, status: Status, stage: str) -> None:
    """The verdict is there, it can be shown, and what failed is noted."""
    assert report.status is status
    assert report.exercise.name in str(report) and report.exercise.name in report._repr_html_()
    noted = failure_log.kept()
    assert stage in [failure.stage for failure in noted], "the stage was not reached"
    assert {failure.error for failure in noted} == {"ZeroDivisionError: a fault of ours"}
    assert "raise ZeroDivisionError" in "\n".join(noted[-1].traceback)


def test_the_stages_are_found():
    assert {"named", "weights", "first divergence", "words", "explain", "symbolic", *OF_MEMORY} <= set(STAGES)


@pytest.mark.parametrize("stage", [s for s in STAGES if s not in (*OF_FORMULAS, "explain", "words")])
def test_a_stage_that_raises_leaves_the_verdict(stage, monkeypatch):
    of_memory = stage in OF_MEMORY
    for other, (module, name) in STAGES.items():
        if other not in ("explaining", "diagnosis", "explain", "words", *(OF_MEMORY if of_memory else ())):
            monkeypatch.setattr(module, name, nothing)  # so that every stage has its turn
    monkeypatch.setattr(explaining, "standing", nothing)
    monkeypatch.setattr(*STAGES[stage], broken)
    report = grade(ROW_SUM, reads_beyond if of_memory else lacks_a_column, answers.earlier)
    stands(report, Status.OUT_OF_BOUNDS if of_memory else Status.WRONG, stage)


@pytest.mark.parametrize("rule", [*SURE, *PLACES], ids=lambda rule: rule.kind)
def test_a_rule_that_raises_is_passed_over(rule, monkeypatch):
    rules = tuple(replace(r, look=broken if r is rule else nothing) for r in (*SURE, *PLACES))
    monkeypatch.setattr(explaining, "SURE", rules)
    monkeypatch.setattr(explaining, "PLACES", ())
    monkeypatch.setattr(explaining, "named", nothing)
    stands(grade(ROW_SUM, lacks_a_column, answers.earlier), Status.WRONG, f"rule: {rule.kind}")


def test_the_other_stages_go_on(monkeypatch):
    monkeypatch.setattr(explaining, "undefined_lanes", broken)
    whole = grade(ROW_SUM, lacks_a_column, answers.earlier)
    monkeypatch.undo()
    assert whole.finding == grade(ROW_SUM, lacks_a_column, answers.earlier).finding is not None


def test_a_finding_that_cannot_be_put_into_words_is_told_by_its_parts_or_not_at_all():
    nonsense, sign = untyped("no such kind"), untyped("sign", {"output": "m"})
    assert explaining.sayable(ROW_SUM, nonsense) is None
    assert explaining.sayable(ROW_SUM, untyped("no such kind", parts=(nonsense, sign))) == sign
    assert failure_log.kept()[-1].stage == "words"


def test_what_an_exercise_says_itself_may_fail_too(monkeypatch):
    monkeypatch.setattr(checking, "diagnose", nothing)
    explains = replace(ROW_SUM, explained=replace(ROW_SUM.explained, explain=broken))
    stands(grade(explains, lacks_a_column, answers.earlier), Status.WRONG, "explain")


@pytest.mark.parametrize("stage", OF_FORMULAS)
def test_a_symbolic_answer_keeps_its_verdict(stage, monkeypatch):
    for other in OF_FORMULAS:
        monkeypatch.setattr(*STAGES[other], broken if other == stage else nothing)
    report = grade(SYMBOLIC, lambda M, N, K, B_M, B_N, B_K, e: M * N * K * e, answers.earlier)
    stands(report, Status.WRONG, stage)


def test_a_review_that_fails_is_neither_a_pass_nor_a_crash():
    def right(x):
        return sums(x.contiguous(), x.shape[1])

    reviewed: Exercise = replace(ROW_SUM, judged=replace(ROW_SUM.judged, review=broken))
    report = grade(reviewed, right, answers.earlier)
    assert not report.passed
    stands(report, Status.UNDECIDED, "review")
    assert "Every case passes" in report.sentence and "ZeroDivisionError" in report.sentence


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_to_end_a_check_ends_it(error, monkeypatch):
    def stops(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(explaining, "named", stops)
    with pytest.raises(error):
        grade(ROW_SUM, lacks_a_column, answers.earlier)


def test_nobody_explains_around_the_guard():
    """Whatever the two modules import in order to look for something is only called by `attempted`."""
    looks = {name for _, name in STAGES.values()} - {"diagnose"}
    for module in (explaining, checking):
        tree = ast.parse(inspect.getsource(importlib.import_module(module.__name__)))
        called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and hasattr(n.func, "id")]
        assert looks & set(called) <= {"named"}, "called without the guard"


def test_what_python_warns_of_while_something_is_tried_is_not_shown(recwarn):
    def warns(x: int) -> int:
        warnings.warn("a condition that is none", UserWarning, stacklevel=1)
        return x

    assert failures_of.attempted(find("row_sum"), "a trial", warns, 3) == 3
    assert not recwarn.list
