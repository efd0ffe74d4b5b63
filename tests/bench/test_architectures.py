"""Solutions' kernels for every GPU that triton supports: they compile, and fit the shared memory there."""

import pytest
import torch

from flashlearn.bench import architectures
from flashlearn.bench.architectures import NO_E4M3, TARGETS, Row, rows
from flashlearn.compiler.shared_memory import needed
from flashlearn.course.answers import solution
from flashlearn.interpreter.dry_run import planned
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.lessons import find
from flashlearn.machine import device
from flashlearn.machine.device import KIB


@pytest.mark.parametrize("name", ["tiled_matmul", "flash_forward", "row_sum", "recompute_probabilities"])
def test_a_solution_fits_every_gpu(name):
    found = rows(find(name), solution(find(name)), compiled=False)
    assert {row.target for row in found} == set(TARGETS) == {80, 86, 89, 90, 100, 120}
    assert [row for row in found if not row.fits] == []


def test_gluon_kernels_are_for_hopper_alone():
    found = rows(find("wgmma_matmul"), solution(find("wgmma_matmul")), compiled=False)
    assert found and {row.target for row in found} == {90} and all(row.fits for row in found)


def test_e4m3_is_for_ada_and_later():
    found = rows(find("quantize_blocks"), solution(find("quantize_blocks")), compiled=False, targets=(86, 89))
    assert {(row.target, row.error) for row in found} == {(86, NO_E4M3), (89, "")}


def test_compiled_to_the_end_there_are_registers_as_well():
    found = rows(find("row_sum"), solution(find("row_sum")), compiled=True, targets=(86,))
    assert found and all(row.fits and row.registers for row in found)


@pytest.mark.parametrize(("shared", "target"), [(99 * KIB, 89), (99 * KIB, 120), (227 * KIB, 90)])
def test_tuned_kernels_in_fp32_with_wide_rows_fit_the_gpu_at_hand(shared, target, monkeypatch):
    monkeypatch.setattr(device, "shared_per_block", lambda: shared)
    given = {"q": torch.empty(1, 1, 70, 256, device="meta"), "lse": torch.empty(1, 1, 70, device="meta")}
    found = planned(lambda g: tuned_backward(*5 * [g["q"]], g["lse"]), given, 20.0)
    assert len(found) == 3
    assert all(needed(launch.specialised, target) <= shared for launch in found)


def test_a_backward_pass_under_autograd_is_planned_with_a_gpus_blocks():
    found = architectures.launches(find("flash_attention"), solution(find("flash_attention")))
    blocks = {launch.constexprs["BLOCK_Q"] for _, launch in found if launch.name == "flash_dkv_kernel"}
    assert blocks == {32, 64}  # fp32, and half precision on a GPU


def test_the_tables_count_what_fits():
    found = [
        Row("one", "S 5", "k", 86, 98 * KIB, 128, 0),
        Row("one", "S 9", "k", 86, 120 * KIB),
        Row("one", "S 5", "k", 90, 120 * KIB),
        Row("two", "S 5", "e", 86, None, error=NO_E4M3),
    ]
    assert [row.fits for row in found] == [True, False, True, False]
    by_row = list(zip(*(column._cells for column in architectures.summary(found).columns), strict=True))
    assert ("sm_86", "2", "2", "1", "120.0", "99") in by_row
    assert ("sm_90", "1", "1", "1", "120.0", "227") in by_row
    largest = list(zip(*(column._cells for column in architectures.table(found).columns), strict=True))
    assert ("one", "k", "sm_86", "120.0", "–", "–", "no") in largest and len(largest) == 3
