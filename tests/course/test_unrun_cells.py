"""A check in a kernel that knows nothing yet says which cells to run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

import flashlearn
from flashlearn.cli.lab import SETTINGS
from flashlearn.course.unrun_cells import sentence

pytestmark = pytest.mark.slow
CHECK = 'flashlearn.check("row_sum", row_sum)'


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator:
    """A kernel as `flashlearn lab` starts it, with a PYTHONSTARTUP of the learner's own."""
    own = tmp_path / "own.py"
    own.write_text("of_my_own = 7\n")
    monkeypatch.setenv("PYTHONSTARTUP", str(SETTINGS / "startup.py"))
    monkeypatch.setenv("FLASHLEARN_PYTHONSTARTUP", str(own))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(flashlearn.__file__).parents[1])]))
    manager, client = start_new_kernel()
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def error_of(client, code: str) -> list[str]:
    shown: list[str] = []

    def keep(message: dict) -> None:
        if message["msg_type"] == "error":
            shown.extend(message["content"]["traceback"])

    client.execute_interactive(code, timeout=150, output_hook=keep)
    return shown


def test_a_check_after_a_restart_names_the_cells_to_run_and_other_errors_stay(kernel):
    (said,) = error_of(kernel, CHECK)
    assert "does not know flashlearn yet" in said and "Run All Above Selected Cell" in said
    assert error_of(kernel, "assert of_my_own == 7 and not [n for n in globals() if 'flashlearn' in n]") == []
    assert error_of(kernel, "import flashlearn") == []
    (said,) = error_of(kernel, CHECK)
    assert "does not know row_sum yet: run the cell that defines it" in said
    assert len(error_of(kernel, "misspelt + 1")) > 1, "a cell of the learner's own keeps its traceback"
    assert len(error_of(kernel, "def inner():\n    return nothing\nflashlearn.check('row_sum', inner())")) > 1


def test_only_cells_of_the_course_are_answered():
    assert "row_sum" in sentence("row_sum", CHECK)
    assert sentence("x", "print(x)") == "" and sentence("", CHECK) == ""
