"""The line of a check that takes long: there while it runs, gone when it is over."""

from __future__ import annotations

import io
import types

import pytest

import flashlearn
from flashlearn.lessons import find
from flashlearn.observation import Compiling
from flashlearn.report import display, progress_line
from flashlearn.report.progress_line import ProgressLine

EXERCISE = find("row_sum")


class Terminal(io.StringIO):
    """A terminal with a reader."""

    def isatty(self) -> bool:
        return True


class Cell:
    """A replacement for IPython's display and its handle."""

    def __init__(self):
        self.shown: list[str] = []

    def display(self, bundle, raw, display_id):
        return self.update(bundle, raw)

    def update(self, bundle, raw):
        self.shown.append(bundle["text/html"])
        return self


@pytest.fixture
def cell(monkeypatch) -> Cell:
    """A notebook without Jupyter, in the run number 7 of a cell."""
    cell = Cell()
    monkeypatch.setattr(display, "in_a_notebook", lambda: True)
    monkeypatch.setattr(display, "execution_count", lambda: 7)
    monkeypatch.setitem(
        __import__("sys").modules, "IPython.display", types.SimpleNamespace(display=cell.display)
    )
    return cell


def until(said) -> None:
    """Come back when it is so."""
    while not said():
        pass


def test_it_says_which_case_and_how_to_stop_and_leaves_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressLine(EXERCISE, patience=0.0) as line:
        line.at(EXERCISE.cases[2])
        until(lambda: "Case 3 of" in terminal.getvalue())
        assert "Case 3" in line.text(3.0)
        line.at(Compiling(2, 8))
        assert line.text(3.0).startswith("Compiling kernel 3 of 8 … 3 s.")
        line.at(None)
        until(lambda: "looking for the mistake" in terminal.getvalue())
    assert EXERCISE.cases[2].name in terminal.getvalue() and "Ctrl-C" in terminal.getvalue()
    assert terminal.getvalue().endswith(progress_line.ERASE)


def test_a_quick_check_shows_nothing_and_neither_does_a_notebook_that_is_executed_to_be_kept(
    cell, monkeypatch
):
    with ProgressLine(EXERCISE):
        pass
    monkeypatch.setenv("FLASHLEARN_WAIT", "1")
    with ProgressLine(EXERCISE, patience=0.0) as line:
        line.at(EXERCISE.cases[0])
    assert cell.shown == [] and line.output is None


def test_a_demonstration_leaves_its_cell_the_same_outputs_however_long_it_takes(cell, monkeypatch):
    monkeypatch.setattr(progress_line, "PATIENCE", 0.0)
    with ProgressLine(EXERCISE, silent=True) as line:
        assert line.output is None and not line.is_active
    flashlearn.check(EXERCISE.name, lambda *given: None, demo=True)
    assert cell.shown == []


def test_the_card_takes_the_place_of_the_line(cell):
    with ProgressLine(EXERCISE, patience=0.0) as line:
        until(lambda: cell.shown)
    assert cell.shown[-1] == "", "a report that is not shown leaves nothing"
    assert line.take_handle() is cell
    assert line.take_handle() is None, "once"


def test_a_card_in_another_run_of_the_cell_has_a_place_of_its_own(cell, monkeypatch):
    with ProgressLine(EXERCISE, patience=0.0) as line:
        until(lambda: cell.shown)
    monkeypatch.setattr(display, "execution_count", lambda: 8)
    assert line.take_handle() is None
