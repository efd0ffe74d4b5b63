"""Checks within a few GiB: a row for each, whatever a check does."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from flashlearn.bench import limited_memory
from flashlearn.machine.device import GIB
from flashlearn.outcome import Status


@pytest.fixture
def gpu(monkeypatch):
    """A GPU of 16 GiB on which a check holds 3 GiB at its peak; what was set as its limit."""
    fractions: list[float] = []
    for name, value in {
        "empty_cache": lambda: None,
        "reset_peak_memory_stats": lambda: None,
        "memory_allocated": lambda: GIB,
        "max_memory_allocated": lambda: 4 * GIB,
        "get_device_properties": lambda _: SimpleNamespace(total_memory=16 * GIB),
        "set_per_process_memory_fraction": fractions.append,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    return fractions


def test_a_process_is_limited_to_a_share_of_the_gpu_and_not_to_more_than_it_has(gpu):
    limited_memory.limit(8)
    assert gpu == [0.5]
    with pytest.raises(ValueError, match=r"This GPU has 16\.0 GiB: 20 is no limit for it"):
        limited_memory.limit(20)


def test_a_peak_before_timing_resets_torch_s_own_figure_counts(gpu, monkeypatch):
    highest = [9 * GIB]
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: highest[0])
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    quiet = SimpleNamespace(cautions=())
    report = SimpleNamespace(status=Status.PASS, passed=True, seconds=1.0, timing=None, card=quiet)

    def check(exercise):
        torch.cuda.reset_peak_memory_stats()
        highest[0] = 2 * GIB
        return report

    assert limited_memory.measured(SimpleNamespace(name="timed"), check).peak == 8 * GIB


def test_every_check_has_a_row_also_one_that_raises(gpu):
    note = SimpleNamespace(sentence="One case was not run: too little memory.")
    passing = SimpleNamespace(
        status=Status.PASS, passed=True, seconds=1.5, timing=SimpleNamespace(smaller="Timed at B·H 64."),
        card=SimpleNamespace(cautions=(note, SimpleNamespace(sentence="Another caution."))),
    )  # fmt: skip

    def check(exercise):
        if exercise.name == "raises":
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return passing

    said: list[str] = []
    exercises = [SimpleNamespace(name=name) for name in ("passes", "raises")]
    first, second = limited_memory.run(exercises, check, said.append)
    assert (first.status, first.passed, first.seconds) == ("passed", True, 1.5)
    assert (first.peak, first.held) == (3 * GIB, 0)
    assert first.notes == (note.sentence, "Timed at B·H 64.")
    assert (second.status, second.passed) == ("raised OutOfMemoryError", False)
    assert said[0] == "passes: passed, 3.00 GiB, 1.5 s" and len(said) == 5
    assert limited_memory.table([first, second], 8).row_count == 2
