"""For every exercise, by discovery: right passes, stubs wait, and each named mistake is known by its name."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
import torch

import flashlearn
from flashlearn.course import packaged_lessons
from flashlearn.course.answers import mistake_function, solution
from flashlearn.course.authoring import load_exercise
from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining import predictions
from flashlearn.interpreter.route import observing
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import all_exercises, lessons
from flashlearn.outcome import Status
from flashlearn.running.answer_source import source_of
from tests.corpus import chosen

ROOT = Path(__file__).parents[2]
EXERCISES = list(all_exercises().values())
KERNELS = [e for e in EXERCISES if e.kind is Kind.KERNEL]
NUMERIC = [e for e in EXERCISES if e.kind is not Kind.SYMBOLIC]
MISTAKES = [
    # those of one exercise in one process: what its mistakes foretell is remembered there
    pytest.param(e, name, id=f"{e.name}: {name}", marks=pytest.mark.xdist_group(e.name))
    for e in EXERCISES
    for name in e.explained.mistakes
]
FIRST = {f"{e.name}: {next(iter(e.explained.mistakes))}" for e in EXERCISES}
MADE = [
    mistake
    for mistake in MISTAKES
    if os.environ.get("CORPUS") == "all" or chosen(mistake.id, 3) or mistake.id in FIRST
]
"""With CORPUS=all each, otherwise a third and each exercise's first, to keep `make test` short."""


def stub_file(exercise: Exercise) -> Path:
    return next((ROOT / "notebooks").glob(f"{exercise.lesson}_*.ipynb"))


def source_file(exercise: Exercise) -> Path:
    return next((ROOT / "flashlearn/lessons").glob(f"lesson_{exercise.lesson}_*/notebook.py"))


def check(exercise: Exercise, function) -> flashlearn.Report:
    return flashlearn.check(exercise.name, function, demo=True)


@pytest.mark.solved
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_lesson_s_solution_passes_in_every_case(exercise):
    report = check(exercise, load_exercise(source_file(exercise), exercise.name))
    assert report.passed, str(report)
    assert len(report.outcomes) >= sum(not case.gpu for case in exercise.cases)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_package_s_solution_passes(exercise):
    ours, lesson_s = solution(exercise), load_exercise(source_file(exercise), exercise.name)
    if exercise.kind is Kind.KERNEL:
        assert exercise.solution
    if code_of(ours) == code_of(lesson_s):
        return  # the lesson shows the package's own text, and that has passed above
    report = check(exercise, ours)
    assert report.passed or exercise.kind is Kind.TORCH, str(report)


def code_of(function) -> str:
    """The code of a function and of the kernels that it uses, without comments and docstrings."""
    try:
        tree = ast.parse(source_of(function))
    except (OSError, TypeError):
        return repr(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_stub_is_not_started(exercise):
    report = check(exercise, load_exercise(stub_file(exercise), exercise.name))
    assert report.status is Status.TODO, str(report)
    assert report.outcomes[0].message


@pytest.fixture
def tiles_are_known(monkeypatch):
    """A kernel's launches show its tiles; a formula that stands for one has the usual ones."""
    monkeypatch.setattr(predictions, "LIKELY", (predictions.USUAL,))


def test_mistakes_of_every_exercise_are_made():
    assert {param.values[0].name for param in MADE} == {e.name for e in EXERCISES}


@pytest.mark.parametrize(("exercise", "name"), MADE)
def test_each_named_mistake_is_answered_by_its_own_name(exercise, name, tiles_are_known):
    report = check(exercise, mistake_function(exercise, name))
    assert report.status is exercise.explained.mistakes[name].status, str(report)
    assert report.finding is not None and report.finding.mistake == name, str(report)


@pytest.mark.parametrize(("exercise", "name"), MISTAKES)
def test_each_named_mistake_tells_the_learner_something(exercise, name):
    mistake = exercise.explained.mistakes[name]
    assert len(mistake.sentence) > 20 and mistake.sentence.rstrip().endswith((".", "?"))
    assert (mistake.wrong is None) != (mistake.launcher is None)


@pytest.mark.parametrize("exercise", NUMERIC, ids=lambda e: e.name)
@pytest.mark.parametrize("filling", ["zeros", "nan", "empty", "first input"])
def test_an_output_that_nobody_computed_fails(exercise, filling):
    def fake(*values):
        inputs = dict(zip(exercise.parameters(), values, strict=True))
        outputs = exercise.reference(**inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        made = tuple(_fill(out, filling, values) for out in outputs)
        return made if len(made) > 1 else made[0]

    seen = set()
    for case in exercise.cases:
        if not case.gpu:
            seen.add(run_observed(exercise, fake, case).status)
        if Status.WRONG in seen:
            break  # one wrong case fails the check
    assert seen <= {Status.PASS, Status.WRONG, Status.NOT_YOURS}
    assert Status.WRONG in seen or (Status.NOT_YOURS in seen and filling not in ("nan", "empty"))


def _fill(out: torch.Tensor, filling: str, values: tuple) -> torch.Tensor:
    if filling == "zeros":
        return torch.zeros_like(out)
    if filling == "empty" or (filling == "nan" and not out.is_floating_point()):
        return torch.empty_like(out)
    if filling == "nan":
        return torch.full_like(out, float("nan"))
    return next(v for v in values if isinstance(v, torch.Tensor)).clone()


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_an_exercise_is_declared_in_full(exercise):
    hints = packaged_lessons.hints(exercise)
    assert len(hints) == 3 and all(hints)
    assert len(exercise.explained.mistakes) >= 3
    names = [case.name for case in exercise.cases]
    assert len(set(names)) == len(names)
    if exercise.kind is Kind.KERNEL and exercise.name != "program_ids":  # whose numbers are not computed
        assert (
            exercise.judged.work is not None
            and exercise.timed.peer is not None
            and exercise.timed.case is not None
        )
        wanted = {torch.float16, torch.bfloat16} | ({torch.float32} - refused(exercise))
        assert wanted <= {case.dtype for case in exercise.cases}


def refused(exercise: Exercise) -> set[torch.dtype]:
    """fp32, where the course's own answer says that it takes none: WGMMA has no operands of that kind."""
    case = next(case for case in exercise.cases if not case.gpu)
    given = exercise.inputs(case, case.generator())
    wide = {n: v.float() if torch.is_tensor(v) and v.is_floating_point() else v for n, v in given.items()}
    try:
        with observing():
            solution(exercise)(**wide)
    except TypeError:
        return {torch.float32}
    except Exception:  # whatever else it says, it is not the dtype
        return set()
    return set()


def test_every_lesson_has_its_source_and_its_two_notebooks():
    for lesson in lessons():
        for pattern in (
            "flashlearn/lessons/*_{}_*/notebook.py",
            "solutions/{}_*.ipynb",
            "notebooks/{}_*.ipynb",
        ):
            assert len(list(ROOT.glob(pattern.format(lesson)))) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
def test_on_a_gpu_the_solution_is_compiled_too(exercise):
    report = check(exercise, solution(exercise))
    assert report.passed, str(report)
    assert {o.mode for o in report.outcomes} == {"observed", "compiled"}
    assert report.timing.measured == (exercise.timed.case is not None)


def test_the_course_on_disk_and_the_declared_exercises_are_the_same():
    from flashlearn.course.files import Course

    assert set(Course.here().exercises()) == set(all_exercises())
