"""A cell that ended in an error leaves its function as it was: the check says which version it judged."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from pathlib import Path

import pytest

import flashlearn
from flashlearn.course import answers, stale_cells
from flashlearn.course.progress import Progress
from flashlearn.report import Report

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

GOOD = """def linear_backward(x, w, dy):
    return dy @ w.mT, x.flatten(0, -2).mT @ dy.flatten(0, -2)
"""
CHECK = 'report = flashlearn.check("linear_backward", linear_backward)'


@pytest.fixture
def shell(tmp_path: Path, monkeypatch) -> Iterator[InteractiveShell]:
    """A session of IPython's own, as a notebook has it, that leaves nothing behind."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path))
    monkeypatch.setattr(answers, "passed", {})
    config = Config()
    config.HistoryManager.enabled = False  # kept in memory only: no file is open when the folder has gone
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(user_ns={"flashlearn": flashlearn}, config=config)
    yield shell
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, *cells: str) -> None:
    for cell in cells:
        shell.run_cell(cell, store_history=True)


def checked(shell: InteractiveShell, *cells: str) -> Report:
    """The report of a check, in a cell of its own, after these."""
    run(shell, *cells, CHECK)
    return shell.user_ns["report"]


def test_a_cell_that_ran_is_judged_without_a_word_more(shell, capsys):
    assert checked(shell, GOOD).stale == ""
    assert checked(shell, GOOD.replace("@ w.mT", "@ w.mT * 2")).stale == "", "and wrong ones too"


def test_after_a_syntax_error_the_check_says_that_it_judged_the_version_before(shell, capsys):
    report = checked(shell, GOOD, GOOD.replace("w.mT,", "w.mT +,"))
    assert report.stale == (
        "The last run of your cell did not define linear_backward: SyntaxError in line 2. This report is "
        "about the previous version."
    )
    assert str(report).splitlines()[0].startswith("The last run of your cell did not define linear_backward")
    assert report._repr_html_().index("did not define") < report._repr_html_().index('class="fl-verdict"')
    assert report.to_dict()["stale"] == report.stale


def test_a_cell_magic_counts_as_a_line(shell, capsys):
    assert "SyntaxError in line 4" in checked(shell, GOOD, "%%time\n" + GOOD + "(").stale
    assert checked(shell, "%%time\n" + GOOD).stale == ""


def test_an_error_above_the_definition_is_named_with_its_line(shell, capsys):
    assert "NameError in line 2" in checked(shell, GOOD, "block = 1\nmissing\n" + GOOD).stale


def test_an_error_below_the_definition_leaves_it_new(shell, capsys):
    assert checked(shell, GOOD, GOOD + "\nmissing\n").stale == ""


def test_a_cell_that_runs_again_is_new_again(shell, capsys):
    assert checked(shell, GOOD, GOOD + "(", GOOD).stale == ""


def test_a_pass_of_an_older_version_is_not_recorded(shell, capsys):
    report = checked(shell, GOOD, GOOD + "(")
    assert report.passed and report.stale
    assert "linear_backward" not in answers.passed
    assert "Next in this lesson" not in str(report)
    assert not Progress().attempts()
    assert checked(shell, GOOD).passed and "linear_backward" in answers.passed


def test_strict_sessions_do_not_take_an_older_version_s_pass(shell, capsys, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_STRICT", "1")
    run(shell, GOOD, GOOD + "(")
    assert "CheckFailed" in type(shell.run_cell(CHECK, store_history=True).error_in_exec).__name__


def test_a_function_that_the_answer_uses_may_be_the_older_one(shell, capsys):
    helper = "def turned(w):\n    return w.mT\n"
    report = checked(shell, helper, GOOD.replace("w.mT", "turned(w)"), helper + "(")
    assert "did not define turned: SyntaxError in line 3" in report.stale


def test_an_older_version_that_is_handed_over_on_purpose_is_what_was_asked_for(shell, capsys):
    assert checked(shell, GOOD, "kept = linear_backward", GOOD + "#", "linear_backward = kept").stale == ""
    run(shell, GOOD + "(", CHECK.replace(", linear_backward", ", kept"))
    assert shell.user_ns["report"].stale == ""


def test_a_function_of_a_module_has_no_cell(shell, capsys):
    run(shell, GOOD + "(", 'report = flashlearn.check("linear_backward", flashlearn.exercises)')
    assert stale_cells.stale_sentence(test_a_function_of_a_module_has_no_cell) == ""


def test_text_in_a_cell_that_only_looks_like_a_definition_counts_for_nothing(shell, capsys):
    assert checked(shell, GOOD, 'text = """\ndef linear_backward(x):\n"""').stale == ""
