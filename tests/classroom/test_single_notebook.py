"""`flashlearn check --sandbox`: one notebook, graded as a stranger's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flashlearn.classroom import single_notebook
from flashlearn.classroom.sandbox.client import NotConfined
from flashlearn.cli import app
from flashlearn.course.progress import Progress
from tests.classroom.answers import BY_TORCH, IMPORTS, ROW_SUM


def notebook(path: Path, answer: str) -> Path:
    """A file of two cells, of which the second answers row_sum."""
    code = [{"id": "a", "source": IMPORTS.splitlines(keepends=True)}, {"id": "ex-row_sum", "source": answer}]
    cells = [{**cell, "cell_type": "code", "metadata": {}, "outputs": []} for cell in code]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


@pytest.fixture
def shown(grading_session, monkeypatch, tmp_path):
    monkeypatch.setattr(single_notebook, "grade", grading_session.grade)
    monkeypatch.chdir(tmp_path)
    return lambda *what: CliRunner().invoke(app, ["check", "--sandbox", *what])


def test_a_notebook_is_graded_in_the_sandbox_and_counts_as_no_progress(shown, tmp_path):
    found = shown("--json", str(notebook(tmp_path / "right.ipynb", ROW_SUM)))
    (result,) = json.loads(found.stdout)["notebooks"]
    assert found.exit_code == 0 and result["exercises"][0]["status"] == "PASS" and result["problems"] == []
    assert Progress().passed() == {}


def test_what_a_notebook_says_of_itself_is_not_believed(shown, tmp_path):
    lies = "\nflashlearn.check = lambda *a: print('passed')\nflashlearn.check('row_sum', row_sum)\n"
    found = shown(str(notebook(tmp_path / "lies.ipynb", BY_TORCH + lies)))
    assert found.exit_code == 1 and "0 of 1 exercise passed" in found.stdout


def test_a_file_that_is_no_notebook_is_one_sentence(shown, tmp_path):
    (tmp_path / "no.ipynb").write_text("[" * 100_000)
    found = shown(str(tmp_path / "no.ipynb"))
    assert found.exit_code == 2 and "cannot be read as a notebook" in found.stdout


def test_without_a_sandbox_the_command_says_why_it_does_not_run(monkeypatch, tmp_path):
    def refused(*_given):
        raise NotConfined("Students' code is not run here: this system has no seccomp.")

    monkeypatch.setattr(single_notebook, "grade", refused)
    found = CliRunner().invoke(app, ["check", "--sandbox", str(notebook(tmp_path / "x.ipynb", ROW_SUM))])
    assert found.exit_code == 2 and "no seccomp" in found.stderr
