"""Datasheet figures, the roofline and occupancy; and what `doctor` finds on a machine."""

from __future__ import annotations

import pytest

from flashlearn import device, environment
from flashlearn.device import GPUS, attainable, occupancy


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


# what doctor finds


def check(name: str) -> environment.Check:
    return environment._guarded(name, environment.CHECKS[name])


def versions(monkeypatch, **installed: str) -> None:
    monkeypatch.setattr(environment, "_version", lambda package: installed.get(package, ""))


def test_every_check_reports_something_and_names_itself():
    found = device.environment_report()
    assert [c.name for c in found] == list(environment.CHECKS)
    assert all(c.found for c in found)


def test_whatever_is_not_right_comes_with_advice(monkeypatch):
    versions(monkeypatch)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    for found in environment.report():
        assert found.ok is True or found.advice, found


@pytest.mark.parametrize(
    ("torch", "triton", "ok"),
    [
        ("2.11.0", "3.6.0", True),
        ("2.13.0", "3.7.1", True),
        ("2.14.0", "3.8.0", True),
        ("2.15.1", "3.9.0", True),
        ("2.13.0", "3.6.0", False),
        ("2.99.0", "3.9.0", None),
        ("2.13.0", "", False),
    ],
)
def test_torch_and_triton_are_looked_at_as_a_pair(monkeypatch, torch, triton, ok):
    versions(monkeypatch, torch=torch, triton=triton)
    assert check("triton").ok is ok


def test_a_missing_numpy_is_named(monkeypatch):
    versions(monkeypatch, torch="2.13.0", triton="3.7.1")
    assert check("NumPy").ok is False
    assert "NumPy" in check("NumPy").advice


@pytest.mark.parametrize(("platform", "advice"), [("darwin", "container"), ("win32", "WSL 2")])
def test_systems_without_a_triton_wheel_are_pointed_to_linux(monkeypatch, platform, advice):
    monkeypatch.setattr(environment.sys, "platform", platform)
    assert check("system").ok is False
    assert advice in check("system").advice


def test_triton_interpret_is_harmless_without_a_gpu_and_wrong_with_one(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(device, "has_gpu", lambda: False)
    assert check("TRITON_INTERPRET").ok is None
    monkeypatch.setattr(device, "has_gpu", lambda: True)
    assert check("TRITON_INTERPRET").ok is False


def test_a_c_compiler_is_needed_only_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    monkeypatch.setattr(device, "has_gpu", lambda: False)
    assert check("C compiler").ok is None
    monkeypatch.setattr(device, "has_gpu", lambda: True)
    assert check("C compiler").ok is False
    assert "gcc" in check("C compiler").advice


def test_a_check_that_breaks_is_a_finding_and_not_a_traceback():
    def broken() -> tuple:
        raise ValueError("no such luck")

    found = environment._guarded("luck", broken)
    assert (found.name, found.ok, found.found) == ("luck", False, "ValueError: no such luck")


def test_a_folder_for_progress_that_does_not_exist_yet_is_judged_by_its_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "not" / "yet"))
    assert check("progress").ok is True
    assert not (tmp_path / "not").exists()
