"""Tests of one group run in one process: what they share is made once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_id_of_a_grouped_test_names_its_group_in_a_worker(tmp_path):
    """`-n 1` is enough: the id is what xdist's scheduler has of a test."""
    chosen = "test_each_named_mistake_tells_the_learner_something and row_sum"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-n",
        "1",
        "--dist",
        "loadgroup",
        "-p",
        "no:cacheprovider",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "tests/lessons/test_exercises.py", "-k", chosen, "--basetemp", tmp_path / "inside"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    assert passed and all(line.rstrip().endswith("@row_sum") for line in passed), done.stdout
