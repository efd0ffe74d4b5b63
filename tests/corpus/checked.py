"""Answers of the corpus, checked once in a process for all tests that ask something of the report."""

from __future__ import annotations

import functools

import pytest

import flashlearn
from flashlearn.report import Report
from tests.corpus.entries import Entry

TOGETHER = pytest.mark.xdist_group("checked answers")
"""For tests that ask for the same reports: one process runs all of them, and checks each answer once."""


@functools.lru_cache(512)  # a report holds the outputs of all cases
def checked(entry: Entry) -> Report:
    """The report on an answer, with nothing recorded. It is shared: read it, do not change it."""
    return flashlearn.check(entry.exercise, entry.function, demo=True)
