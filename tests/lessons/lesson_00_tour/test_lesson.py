"""Lesson 00: what its exercises accept, what they refuse, and what they say then."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from flashlearn import lessons
from flashlearn.explaining import diagnose
from flashlearn.judging.cases import run, run_observed
from flashlearn.kernels import tour
from flashlearn.lessons import find
from flashlearn.outcome import Status

PROGRAM_IDS, ROW_SUM, SCALED_ADD = EXERCISES = tuple(map(find, ("program_ids", "row_sum", "scaled_add")))
LAUNCHED = [
    pytest.param(exercise, mistake, id=f"{exercise.name}: {name}")
    for exercise in EXERCISES
    for name, mistake in exercise.explained.mistakes.items()
    if mistake.launcher is not None
]
LESSON = Path(lessons.__path__[0]) / "lesson_00_tour" / "notebook.py"


def statuses(exercise, function) -> set[Status]:
    return {outcome.status for outcome in run(exercise, function, compiled=False)}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_courses_own_kernel_passes_every_case(exercise):
    assert statuses(exercise, getattr(tour, exercise.name)) == {Status.PASS}


@pytest.mark.parametrize("exercise, mistake", LAUNCHED)
def test_a_broken_kernel_gets_the_status_that_its_mistake_declares(exercise, mistake):
    assert mistake.status in statuses(exercise, mistake.launcher)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_every_wrong_formula_differs_from_the_truth_in_several_cases(exercise):
    cases = [case for case in exercise.cases if not case.gpu]
    for name, mistake in exercise.explained.mistakes.items():
        if mistake.wrong is None:
            continue
        draws = [exercise.inputs(case, case.generator()) for case in cases]
        differs = [not torch.equal(mistake.wrong(**d), exercise.reference(**d)) for d in draws]
        halves = [differ for differ, case in zip(differs, cases, strict=True) if case.dtype.itemsize == 2]
        assert sum(differs) >= len(cases) // 2 or (len(halves) > 1 and all(halves)), name


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_cases_cover_ragged_tails_single_elements_views_and_half_precision(exercise):
    tags = frozenset().union(*(case.tags for case in exercise.cases))
    assert tags >= {"ragged", "strided", "half"}
    assert any(1 in case.sizes.values() for case in exercise.cases)


def test_a_missing_mask_is_told_with_the_line_the_tensor_and_the_first_element():
    outcome = run_observed(
        SCALED_ADD,
        SCALED_ADD.explained.mistakes["no mask"].launcher,
        SCALED_ADD.cases[0],
    )
    assert outcome.status is Status.OUT_OF_BOUNDS
    assert "x_ptr[1000]" in outcome.message and "no mask" in outcome.message
    assert "tl.load(x_ptr + offsets" in outcome.place.text


def test_a_slice_is_its_own_tensor_and_not_the_memory_around_it():
    strided = next(case for case in SCALED_ADD.cases if case.layout == "strided")
    ignored = SCALED_ADD.explained.mistakes["strides ignored"].launcher
    assert run_observed(SCALED_ADD, ignored, strided).status is Status.OUT_OF_BOUNDS


def test_a_launcher_may_copy_a_strided_vector_instead_of_using_strides():
    def scaled_add(a, x, y):
        return tour.scaled_add(a, x.contiguous(), y.contiguous())

    assert statuses(SCALED_ADD, scaled_add) == {Status.PASS}


@triton.jit
def looping_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)
        sums += x.to(tl.float32)
    tl.store(s_ptr + i, tl.sum(sums, axis=0))


def test_a_row_may_be_summed_block_by_block():
    def row_sum(x):
        s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        looping_kernel[(x.shape[0],)](x, s, x.shape[1], *x.stride(), BLOCK=16)
        return s

    assert statuses(ROW_SUM, row_sum) == {Status.PASS}


def test_a_sum_by_torch_is_not_the_learners_kernel():
    outcomes = run(ROW_SUM, lambda x: x.float().sum(dim=1).to(x.dtype), compiled=False)
    assert {o.status for o in outcomes} == {Status.NOT_YOURS}
    assert diagnose(ROW_SUM, outcomes).sentence


def test_the_least_traffic_is_two_vectors_read_and_one_written():
    case = SCALED_ADD.cases[0]
    work = SCALED_ADD.judged.work(SCALED_ADD.inputs(case, case.generator()))
    seen = run_observed(SCALED_ADD, tour.scaled_add, case).observation
    assert work.bytes == seen.bytes_requested == seen.bytes_unique == 3 * 1000 * 4


def test_each_experiment_is_predicted_before_it_is_run_and_explained_after():
    parts = re.split(r"^# ### (?=Experiment \d+)", LESSON.read_text(encoding="utf-8"), flags=re.MULTILINE)
    experiments = parts[1:]
    assert [int(re.search(r"\d+", text)[0]) for text in experiments] == list(range(1, 11))
    for text in experiments:
        predict, code, notice = text.index("**Predict:**"), text.index("\n# %%"), text.index("What to notice")
        assert predict < code < notice
        assert text.count("<details>") == text.count("</details>") >= 1


def test_a_product_that_is_rounded_before_y_is_added_is_named():
    def scaled_add(a, x, y):
        product = tour.scaled_add(a, x, torch.zeros_like(x))
        return tour.scaled_add(1.0, product, y)

    finding = diagnose(SCALED_ADD, run(SCALED_ADD, scaled_add))
    assert finding.names == ("a·x is rounded",) and finding.fits == finding.of
