"""What `doctor` finds on a machine, and what it advises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from flashlearn.course import environment
from flashlearn.machine import device

ROOT = Path(__file__).parents[2]


def check(name: str) -> environment.Check:
    return environment._guarded(name, environment.CHECKS[name])


def versions(monkeypatch, **installed: str) -> None:
    monkeypatch.setattr(environment, "_version", lambda package: installed.get(package, ""))


def test_every_check_reports_something_and_names_itself():
    found = environment.report()
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
        ("2.14.1", "3.8.0", True),
        ("2.15.1", "3.9.0", True),
        ("2.16.0", "3.10.0", None),
        ("2.12.1", "3.7.0", True),
        ("2.13.0", "3.6.0", False),
        ("2.99.0", "3.9.0", None),
        ("2.13.0", "3.8.0", False),
        ("2.13.0", "", False),
    ],
)
def test_torch_and_triton_are_looked_at_as_a_pair(monkeypatch, torch, triton, ok):
    versions(monkeypatch, torch=torch, triton=triton)
    monkeypatch.setattr(environment, "_bundles_triton", lambda: True)
    assert check("triton").ok is ok


def test_a_pair_outside_the_declared_range_is_said_in_a_sentence_with_the_range(monkeypatch):
    versions(monkeypatch, torch="2.16.0", triton="3.10.0")
    found = check("triton")
    assert found.ok is None and found.found == "3.10.0 with torch 2.16.0"
    assert "outside what the course is made for, torch 2.11 with triton 3.6 to torch 2.15" in found.advice


def test_torch_s_cpu_build_which_asks_for_no_triton_works_with_every_triton_of_the_range(monkeypatch):
    versions(monkeypatch, torch="2.13.0", triton="3.6.0")
    monkeypatch.setattr(environment, "_bundles_triton", lambda: False)
    assert check("triton").ok is True and "asks for none" in check("triton").found
    versions(monkeypatch, torch="2.13.0", triton="3.10.0")
    assert check("triton").ok is None


def test_the_range_of_the_package_is_that_of_the_known_pairs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {r.name: r.specifier for r in map(Requirement, project["dependencies"])}
    for name, known in {"torch": set(environment.PAIRS), "triton": set(environment.PAIRS.values())}.items():
        first, last = min(known, key=Version), max(known, key=Version)
        beyond = f"{Version(last).major}.{Version(last).minor + 1}"
        assert all(declared[name].contains(f"{version}.0") for version in known)
        assert str(declared[name]) == f"<{beyond},>={first}"


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


def test_what_this_machine_does_with_each_lesson_is_said_in_a_line(monkeypatch):
    def seen(capability):
        monkeypatch.setattr(device, "capability", lambda: capability)
        monkeypatch.setattr(device, "has_gpu", lambda: (capability or 0) >= 80)
        return dict(environment.lessons())

    without, ada, hopper = seen(None), seen(89), seen(90)
    assert without.keys() == ada.keys() == hopper.keys()
    assert without["06"] == "observed, times predicted"
    assert ada["06"] == hopper["06"] == "observed, compiled, timed"
    assert ada["13"] == "observed, since they need capability 9.0"
    assert hopper["13"] == "observed, compiled, timed"
