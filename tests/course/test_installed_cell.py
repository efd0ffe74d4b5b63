"""A lesson's first code cell says what to install where the package is missing, in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flashlearn.course import installed_cell

SHELL = """
import sys
sys.modules[{missing!r}] = None  # importing it fails as if it were not installed
from IPython.core.interactiveshell import InteractiveShell
result = InteractiveShell.instance().run_cell({cell!r})
print("failed" if result.error_in_exec else "ran")
"""


@pytest.mark.parametrize("missing", ["flashlearn", "torch"])
def test_a_missing_package_gives_one_sentence_with_what_to_do_and_no_traceback(missing, tmp_path):
    code = SHELL.format(missing=missing, cell=installed_cell.TEXT)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    *said, last = ran.stdout.strip().splitlines()
    assert last == "failed" and len(said) == 1, ran.stdout + ran.stderr
    assert missing in said[0] and "`%pip install`" in said[0] and "kernel" in said[0]
    assert "Traceback" not in ran.stdout + ran.stderr


def test_the_cell_is_short_and_says_nothing_where_all_is_well(tmp_path):
    assert len(installed_cell.TEXT.splitlines()) <= 10
    code = SHELL.format(missing="no_such_package", cell=installed_cell.TEXT)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == "ran\n", ran.stdout + ran.stderr
