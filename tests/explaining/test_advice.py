"""Advice fits the exercise and the answer: nothing that defeats the one, or is in the other already."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from flashlearn.exercise import Exercise, Kind, Mistake
from flashlearn.lessons import all_exercises, find
from flashlearn.outcome import Finding
from tests.corpus import Entry, wrong_entries
from tests.corpus.checked import TOGETHER, checked
from tests.corpus.test_corpus import NAMED

CALLS = re.compile(r"\b(?:tl|triton|torch|gl|math|sp)\.\w+\([^()]")
"""A call with its arguments: a line handed over, which may be there already."""

CODE = re.compile(r"[+*]= |\b[a-z]+_ptr\b|\b(?:lse_i|in_keys|in_d|rescale|acc)\b")
"""Updates, and names that only the course's own kernels have."""

UNCHANGED = ("The patient's mistake is still there", "The patient as it came does the same")
"""What is said of a patient of the clinic that was not treated: its code is given."""

KERNEL_WORDS = re.compile(r"\bkernel|\btl\.|\blauncher\b|\bprogram id")
WRONG = [e for e in wrong_entries() if find(e.exercise).lesson != "13"]
SAMPLE = WRONG if os.environ.get("CORPUS") == "all" else [e for e in NAMED if e in WRONG]  # checked anyway


def declared() -> Iterator[tuple[str, Exercise, Mistake]]:
    for name, exercise in all_exercises().items():
        for title, mistake in exercise.all_mistakes.items():
            yield f"{name}: {title}", exercise, mistake


def test_declared_mistakes_ask_or_point_and_write_no_line():
    found = [
        f"{name}: {mistake.next_step}"
        for name, exercise, mistake in declared()
        if exercise.kind is Kind.KERNEL and (CALLS.search(mistake.next_step) or "range(" in mistake.next_step)
    ]
    assert not found, "\n".join(found)


def test_declared_mistakes_of_kernels_use_no_name_of_the_course_s_own_code():
    found = [
        f"{name}: {text}"
        for name, exercise, mistake in declared()
        if exercise.kind is Kind.KERNEL and not mistake.sentence.startswith(UNCHANGED)
        for text in (mistake.sentence, mistake.next_step)
        if CODE.search(text)
    ]
    assert not found, "\n".join(found)


def test_no_declared_mistake_recommends_atomics_where_the_order_of_additions_matters():
    found = [
        name
        for name, exercise, mistake in declared()
        if not exercise.judged.atomics and "atomic" in mistake.next_step
    ]
    assert not found


def advice(finding: Finding | None) -> Iterator[str]:
    """The next steps of a finding and of its parts, and what edits put into the answer."""
    if finding is None:
        return
    yield finding.next_step
    new = getattr(finding.kind, "new", "")
    if new and "atomic" not in getattr(finding.kind, "old", ""):
        yield new
    for part in finding.parts:
        yield from advice(part)


@TOGETHER
@pytest.mark.slow
@pytest.mark.parametrize("entry", SAMPLE, ids=str)
def test_advice_fits_the_exercise_and_the_line(entry: Entry):
    exercise = find(entry.exercise)
    report = checked(entry)
    place = report.finding.place if report.finding is not None else None
    for text in advice(report.finding):
        assert exercise.judged.atomics or "tl.atomic" not in text, text
        assert exercise.kind is Kind.KERNEL or not KERNEL_WORDS.search(text), text
        for call in re.findall(r"`([\w.]+\([^`]*\))`", text):
            assert place is None or call not in place.text, f"{call} is in line {place.line} already"
