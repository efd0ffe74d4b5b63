"""Datasheet figures, the roofline and occupancy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import flashlearn
from flashlearn.machine import device
from flashlearn.machine.device import GPUS, attainable, occupancy


def test_a_kernel_that_computes_little_is_limited_by_memory():
    gpu = GPUS["A100"]
    assert attainable(gpu, operations=1e6, bytes=gpu.bandwidth, half=False) == pytest.approx(1.0)


def test_tensor_cores_shorten_only_what_is_limited_by_arithmetic():
    gpu = GPUS["H100"]
    assert attainable(gpu, 1e15, 1e3, half=False) / attainable(gpu, 1e15, 1e3, half=True) > 10
    assert attainable(gpu, 1e3, 1e9, half=False) == attainable(gpu, 1e3, 1e9, half=True)


@pytest.mark.parametrize(
    ("gpu", "registers", "shared", "warps", "expected"),
    [
        ("A100", 32, 0, 4, 1.0),  # 16 blocks of 4 warps: full
        ("A100", 222, 0, 4, 0.125),  # 7 KiB of registers a warp: two blocks
        ("H100", 255, 0, 8, 0.125),  # 8 KiB of registers a warp: 8 warps, one block
        ("A100", 32, 163 * 1024, 4, 4 / 64),  # all shared memory in one block
        ("H100", 32, 100 * 1024, 4, 8 / 64),  # two blocks of 101 KiB in 228
        ("RTX 4090", 40, 0, 4, 1.0),  # 48 warps at most
        ("RTX 4090", 32, 0, 1, 0.5),  # 24 blocks at most
    ],
)
def test_occupancy_is_what_cudas_calculator_says(gpu, registers, shared, warps, expected):
    assert occupancy(GPUS[gpu], registers, shared, warps) == pytest.approx(expected)


def test_a_block_that_does_not_fit_has_no_occupancy():
    assert occupancy(GPUS["A100"], 32, 200 * 1024, 4) == 0.0


def test_a_target_without_a_known_gpu_says_which_are_known():
    assert device.for_target(90).name == "H100"
    with pytest.raises(KeyError, match=r"70 is known here.*80 \(A100\)"):
        device.for_target(70)


def test_mode_and_device_follow_from_the_gpu(monkeypatch):
    monkeypatch.setattr(device, "has_gpu", lambda: True)
    assert (device.mode(), device.default()) == ("compiled", "cuda")
    monkeypatch.setattr(device, "has_gpu", lambda: False)
    assert (device.mode(), device.default()) == ("observed", "cpu")


def test_a_gpu_runs_what_needs_no_newer_one(monkeypatch):
    monkeypatch.setattr(device, "has_gpu", lambda: True)
    monkeypatch.setattr(device, "capability", lambda: 80)
    assert device.runs(0) and device.runs(80)
    assert not device.runs(89)
    monkeypatch.setattr(device, "has_gpu", lambda: False)
    assert not device.runs(0)


@pytest.fixture
def imagined(monkeypatch):
    """A GPU by the name and figures that torch would give."""

    def imagine(name, capability, shared):
        own = SimpleNamespace(
            name=name,
            multi_processor_count=46,
            shared_memory_per_block_optin=shared,
            shared_memory_per_multiprocessor=shared + 1024,
        )
        monkeypatch.setattr(device, "capability", lambda: capability)
        monkeypatch.setattr(device, "has_gpu", lambda: capability is not None)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: own)
        device.present.cache_clear()

    yield imagine
    device.present.cache_clear()


@pytest.mark.parametrize(
    ("name", "capability", "shared", "own", "shown"),
    [
        ("NVIDIA GeForce RTX 4070 Laptop GPU", 89, 101376, "RTX 4070 Laptop GPU", (80, 89, 90)),
        ("NVIDIA GeForce RTX 3060", 86, 101376, "RTX 3060", (80, 86, 90)),
        ("NVIDIA H100 80GB HBM3", 90, 232448, "H100", (80, 90)),
        ("NVIDIA A100-SXM4-40GB", 80, 166912, "A100", (80, 90)),
        ("NVIDIA GB10", 121, 101376, "GB10", (80, 90, 121)),
    ],
)
def test_the_gpu_that_is_here_is_known_by_its_own_name_and_shared_memory(
    name, capability, shared, own, shown, imagined
):
    imagined(name, capability, shared)
    assert (device.present().name, device.present().shared_per_block) == (own, shared)
    assert device.shown_targets() == shown and device.shared_per_block() == shared


def test_without_a_gpu_an_rtx_4090_is_shown_and_the_smallest_memory_counts(imagined):
    imagined("", None, 0)
    assert device.present() is None and device.shown_targets() == (80, 89, 90)
    assert device.shared_per_block() == 99 * 1024


def test_a_gpu_that_is_too_old_is_named_once_and_kernels_run_observed(monkeypatch, capsys):
    monkeypatch.setattr(device, "capability", lambda: 75)
    monkeypatch.setattr(device, "has_gpu", lambda: (device.capability() or 0) >= device.MIN_TARGET)
    monkeypatch.delitem(vars(flashlearn), "DEVICE", raising=False)
    assert flashlearn.DEVICE == flashlearn.DEVICE == "cpu"
    said = capsys.readouterr().out
    assert said == (
        "The GPU here has compute capability 7.5, and the course uses 8.0 and newer: "
        "kernels run observed, on the processor.\n"
    )


@pytest.mark.parametrize("found", [None, 80, 90])
def test_nothing_is_said_without_a_gpu_and_of_one_that_is_used(monkeypatch, found):
    monkeypatch.setattr(device, "capability", lambda: found)
    assert device.older_gpu_sentence() == ""
