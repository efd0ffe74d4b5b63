"""Answers as learners hand them in, labelled by hand: what the grader's diagnosis is measured with.

They are the files `tests/corpus/answers/EXERCISE/*.py`, each with its label in its header (the format is in
`answer_files.py`). A wrong answer carries what a good teacher would say, and the names of findings that would
say it. Right answers are written in unusual styles.

    >>> entry = find_entry("row_sum", "wrong_loop_starts_at_block")
    >>> entry.names
    ('first tile missing',)

`python -m tests.corpus` checks all entries and prints how they were named.
"""

from __future__ import annotations

from tests.corpus.entries import (
    Entry,
    chosen,
    find_entries,
    find_entry,
    function_of,
    right_entries,
    sample,
    wrong_entries,
)
from tests.corpus.functions import PREAMBLE, function_from_text, function_with_edits, section_of

__all__ = [
    "PREAMBLE",
    "Entry",
    "chosen",
    "find_entries",
    "find_entry",
    "function_from_text",
    "function_of",
    "function_with_edits",
    "right_entries",
    "sample",
    "section_of",
    "wrong_entries",
]
