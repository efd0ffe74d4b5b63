"""The compiled half of a check, on a GPU: guard zones hold, and what changes from run to run is told."""

from __future__ import annotations

import pytest
import torch

import flashlearn
from flashlearn.judging.compiled_cases import run_compiled
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.running.guard_zones import GuardedWatch
from tests import bad_kernels

pytestmark = pytest.mark.gpu
SCALED_ADD = find("scaled_add")


def overruns(a, x, y):
    """Right inside, and one element past the end of z is written by torch: no kernel to observe."""
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    z.copy_(bad_kernels.right(a, x, y))
    z.as_strided((1,), (1,), z.storage_offset() + z.numel()).fill_(1)
    return z


def test_a_write_just_past_an_output_is_seen_in_the_guard_zone():
    outcomes = run_compiled(SCALED_ADD, overruns)
    assert outcomes[-1].status is Status.OUT_OF_BOUNDS
    assert "past the end of an output" in outcomes[-1].message


def test_an_untouched_guard_zone_says_nothing():
    watch = GuardedWatch()
    with watch:
        z = torch.empty(100, device="cuda")
        assert torch.isnan(z).all()
        z.fill_(1)
    assert len(watch.buffers) == 1 and watch.trespass() == ""


def test_elements_that_nobody_wrote_are_known_also_where_they_are_integers():
    watch = GuardedWatch()
    with watch:
        z, n = torch.empty(6, device="cuda"), torch.empty(6, dtype=torch.int32, device="cuda")
        z[:4], n[:2] = 1.0, 0
    assert watch.written(z)["writers"].tolist() == [0, 0, 0, 0, -1, -1]
    assert watch.written(n)["writers"].tolist() == [0, 0, -1, -1, -1, -1]
    assert watch.written(torch.zeros(6, device="cuda")) == {}


def test_a_launcher_that_works_in_its_input_s_memory_is_told_so():
    def in_place(a, x, y):
        y.copy_(bad_kernels.right(a, x, y))
        return y

    outcomes = run_compiled(SCALED_ADD, in_place)
    assert outcomes[-1].status is Status.WRONG and outcomes[-1].fault == ("changed input", "y")
    outcomes = run_compiled(SCALED_ADD, lambda a, x, y: (bad_kernels.right(a, x, y), y)[1])
    assert outcomes[-1].fault == ("returned input", "z", "y")


def test_a_compiled_case_knows_what_was_launched():
    (first, *_) = run_compiled(SCALED_ADD, bad_kernels.right)
    assert first.status is Status.PASS and len(first.launches) == 1
    assert first.launches[0].grid[0] >= 1 and first.launches[0].constexprs


def test_an_answer_that_changes_from_run_to_run_is_a_race():
    calls = []

    def wavers(a, x, y):
        calls.append(0)
        z = bad_kernels.right(a, x, y)
        return torch.nextafter(z, z + 1) if len(calls) % 2 and z.dtype == torch.float32 else z

    outcomes = run_compiled(SCALED_ADD, wavers)
    assert outcomes[-1].status is Status.RACE
    assert "from run to run" in outcomes[-1].message


@pytest.mark.parametrize("function", bad_kernels.BAD, ids=lambda f: f.__name__)
def test_no_bad_kernel_is_launched_for_real(function, monkeypatch):
    quick = SCALED_ADD.with_time_limit(1.0)
    monkeypatch.setattr("flashlearn.course.check.find", lambda name: quick)
    report = flashlearn.check("scaled_add", function, demo=True)
    assert report.status.name == bad_kernels.BAD[function][0]
    assert {o.mode for o in report.outcomes} == {"observed"}
    torch.cuda.synchronize()
    assert flashlearn.check("scaled_add", bad_kernels.right, demo=True).passed
