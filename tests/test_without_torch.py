"""Symbolic exercises are checked with sympy alone: the reports are those of an environment with torch.

The same checks run in two processes; in one of them no import system knows torch, triton or NumPy.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flashlearn.exercise import Kind
from flashlearn.lessons import Listed, all_exercises
from tests.corpus.entries import Entry, right_entries, wrong_entries

ABSENT = ("torch", "triton", "numpy", "matplotlib", "IPython", "ml_dtypes", "nbformat", "jupytext", "typer")

LESSONS = ("01", "02", "03", "04")
SYMBOLIC = [
    exercise.name
    for exercise in all_exercises().values()
    if exercise.kind is Kind.SYMBOLIC and exercise.lesson in LESSONS
]

OTHER_PACKAGES = re.compile(r"\b(np|numpy|torch)\.|^(from|import) ", re.MULTILINE)

FINDER = """
import sys
from importlib.machinery import PathFinder


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""
WITHOUT = f"ABSENT = {ABSENT}{FINDER}"

CHECKS = """
import json, linecache, math, sys
from dataclasses import replace
import sympy as sp
import flashlearn

reports = {}
for key, text in json.load(sys.stdin).items():
    file = f"<answer {key}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"math": math, "sp": sp, "__name__": "answer"}
    exec(compile(text, file, "exec"), names)
    exercise = key.partition("/")[0]
    function = [value for value in names.values() if getattr(value, "__module__", "") == "answer"][-1]
    report = flashlearn.check(exercise, function)
    outcomes = tuple(replace(outcome, seconds=0.0) for outcome in report.outcomes)
    report = replace(report, seconds=0.0, outcomes=outcomes)
    about = {"passed": report.passed, "finding": report.finding and report.finding.names}
    reports[key] = {**about, "text": str(report), "html": report._repr_html_(), "data": report.to_dict()}
imported = [name for name in sys.modules if name in ("torch", "triton", "numpy")]
json.dump({"reports": reports, "imported": imported}, sys.stdout)
"""


def run(script: str, home: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "FLASHLEARN_HOME": str(home), "FLASHLEARN_STRICT": ""}
    return subprocess.run(
        [sys.executable, "-c", script], input=given, capture_output=True, text=True, timeout=900, env=env
    )


def reports(script: str, home: Path, entries: list[Entry]) -> dict[str, Any]:
    done = run(script, home, json.dumps({entry.key: entry.text for entry in entries}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def entries_of(exercise: str) -> list[Entry]:
    """Right and wrong answers of the corpus that use sympy and nothing else."""
    own = [entry for entry in (*right_entries(), *wrong_entries()) if entry.exercise == exercise]
    return [entry for entry in own if not OTHER_PACKAGES.search(entry.text)]


def assert_same(home: Path, entries: list[Entry]) -> None:
    without, usual = reports(WITHOUT + CHECKS, home / "a", entries), reports(CHECKS, home / "b", entries)
    assert not list(home.glob("*/failures.jsonl")), "a stage of the search failed"
    assert without["imported"] == [] and "torch" in usual["imported"]
    for key, report in usual["reports"].items():
        assert without["reports"][key] == report, key
    for entry in entries:
        assert usual["reports"][entry.key]["passed"] is not bool(entry.names), entry.key


def test_there_are_symbolic_exercises_in_each_of_the_first_lessons():
    assert {all_exercises()[name].lesson for name in SYMBOLIC} == {*LESSONS}


@pytest.mark.slow
@pytest.mark.timeout(900)  # the two processes check a whole lesson's answers: each takes seconds to start
@pytest.mark.parametrize("lesson", LESSONS)
def test_every_answer_of_the_corpus_has_the_same_report_without_torch(lesson, tmp_path):
    entries = {name: entries_of(name) for name in SYMBOLIC if all_exercises()[name].lesson == lesson}
    assert all(entries.values())
    assert_same(tmp_path, [entry for own in entries.values() for entry in own])


ALSO = """
import flashlearn
from flashlearn.lessons import UnknownExercise, all_exercises, listed
assert list(all_exercises()) and all(e.kind.value == "symbolic" for e in all_exercises().values())
print(*(f"{e.name}|{e.lesson}|{e.title}" for e in listed().values()), sep="\\n")
for name in ("row_sum", "softmax_forward", "attention_backward", "no_such"):
    try:
        flashlearn.check(name, print)
    except UnknownExercise as error:
        print(type(error).__name__, error)
"""


def test_an_exercise_that_needs_torch_says_so_in_a_sentence(tmp_path):
    done = run(WITHOUT + ALSO, tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[-4:]
    for name, line in zip(("row_sum", "softmax_forward", "attention_backward"), said, strict=False):
        assert line == (
            f"NotCheckedHere {name} cannot be checked here: it needs torch, which is not installed. "
            "Exercises in sympy can be checked without."
        )
    assert said[3].startswith("UnknownExercise There is no exercise called 'no_such'")


def test_what_cannot_be_imported_is_listed_in_its_place_with_its_title(tmp_path):
    done = run(WITHOUT + ALSO, tmp_path)
    listed = [line.split("|") for line in done.stdout.splitlines()[:-4]]
    exercises = list(all_exercises().values())
    assert [(name, lesson) for name, lesson, _ in listed] == [(e.name, e.lesson) for e in exercises]
    titles = {e.name: e.title for e in exercises if not e.name.startswith("clinic_")}  # made by a function
    assert {name: title for name, _, title in listed if name in titles} == titles


def test_everything_can_be_checked_with_torch():
    from flashlearn.lessons import listed

    assert not any(isinstance(one, Listed) for one in listed().values())


def test_without_sqlite_one_sentence_says_that_progress_is_not_recorded(tmp_path):
    entries = [entry for entry in wrong_entries() if entry.exercise == "softmax_vjp"][:2]
    script = f"ABSENT = {(*ABSENT, 'sqlite3')}{FINDER}{CHECKS}"
    done = run(script, tmp_path, json.dumps({entry.key: entry.text for entry in entries}))
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "Your progress is not recorded: this Python has no sqlite3."
    assert len(json.loads(done.stdout)["reports"]) == 2
