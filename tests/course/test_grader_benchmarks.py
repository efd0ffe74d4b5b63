"""The benchmark's tables have a row for everything they promise, with figures that were measured."""

from __future__ import annotations

import io
import os

import pytest
from rich.console import Console

from flashlearn.course import first_check, grader_benchmarks
from flashlearn.lessons import find


def text(table) -> str:
    written = io.StringIO()
    Console(file=written, width=120).print(table)
    return written.getvalue()


@pytest.fixture(autouse=True)
def few_runs(monkeypatch):
    monkeypatch.setattr(grader_benchmarks, "REPEATS", 1)
    monkeypatch.setattr(grader_benchmarks, "RUNS", 2)


def test_latency_has_a_row_for_each_exercise():
    exercises = [find("scaled_add"), find("softmax_vjp")]
    said: list[str] = []
    rows = text(grader_benchmarks.latency(exercises, said.append))
    assert all(e.name in rows for e in exercises)
    assert said == ["verdict latency: 1 of 2, scaled_add", "verdict latency: 2 of 2, softmax_vjp"]


def test_a_right_kernel_stays_below_its_limit_and_every_mistake_above():
    exercise = find("softmax_forward")
    [row] = [
        line
        for line in text(grader_benchmarks.margins([exercise], lambda said: None)).splitlines()
        if exercise.name in line
    ]
    right, mistake = (float(cell) for cell in row.replace("│", " ").split()[1:3])
    assert 0 < right <= 1 < mistake


@pytest.mark.slow
def test_the_observer_is_measured_against_triton_s_own_interpreter():
    rows = text(grader_benchmarks.overhead())
    assert "triton's own" in rows and "observed / triton's own" in rows


def test_checks_are_timed_with_an_empty_cache_and_their_medians_told():
    before = os.environ.get("TRITON_CACHE_DIR")
    rows = text(first_check.table([find("scaled_add"), find("softmax_vjp")]))
    assert "scaled_add" in rows and rows.count("passed") == 2 and "median of 2" in rows
    assert os.environ.get("TRITON_CACHE_DIR") == before
