"""What every test gets: a learner's folder of its own, a quiet matplotlib, skips that give their reason."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

# Before anything imports triton or torch: the course never runs on these settings of a developer's shell.
for variable in ("TRITON_INTERPRET", "FLASHLEARN_STRICT", "FLASHLEARN_VERDICTS", "FLASHLEARN_WAIT"):
    os.environ.pop(variable, None)
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests' tensors are small, and may share the cores with others


def pytest_configure(config: pytest.Config) -> None:
    """No test, nor a fixture of wider scope, ever sees the progress of the person who runs it."""
    os.environ["FLASHLEARN_HOME"] = tempfile.mkdtemp(prefix="flashlearn-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    home = Path(os.environ["FLASHLEARN_HOME"])
    if home.name.startswith("flashlearn-tests-"):
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(autouse=True)
def flashlearn_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for this test's progress."""
    home = tmp_path / "flashlearn-home"
    monkeypatch.setenv("FLASHLEARN_HOME", str(home))
    return home


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none, and say so (tests/browser does the same for Chromium)."""
    if getattr(config.option, "loadgroup", False):
        _name_groups(items)
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu:
        import torch

        if not torch.cuda.is_available():
            for item in on_gpu:
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device, and torch finds none here"))


def _name_groups(items: list[pytest.Item]) -> None:
    """Let the ids of grouped tests end in @GROUP, by which xdist's loadgroup sends them to one process.

    xdist 3.8 writes this to an attribute that pytest 9.2 does not read.
    """
    for item in items:
        names = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
        suffix = f"@{'_'.join(names)}"
        if names and not item.nodeid.endswith(suffix):
            item._id = type(item._id).parse(item.nodeid + suffix)


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """`torch.randn` without a generator gives a test the same numbers on every run, in whatever order."""
    import torch

    torch.default_generator.manual_seed(0)  # the CPU's: a GPU may be in no state to be asked


@pytest.fixture(autouse=True)
def no_background_compiler(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A check compiles for GPUs in the background; where nobody waits for that, it only takes the cores."""
    if request.node.get_closest_marker("budgets") is None:
        monkeypatch.setattr("flashlearn.checking.launcher_steps._budgets", lambda *_: (None, None))
