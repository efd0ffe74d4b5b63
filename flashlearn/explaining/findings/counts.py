"""Counts in sentences: "the failing case", "both failing cases", "all 7 failing cases"."""

from __future__ import annotations

import re

FAILING = "failing case"
"""What a case is called that does not pass."""


def all_of(count: int, noun: str) -> str:
    """All of `count` things, called by their singular: "the case", "both cases", "all 3 cases"."""
    return {1: f"the {noun}", 2: f"both {noun}s"}.get(count, f"all {count} {noun}s")


def all_pass(count: int) -> str:
    """The statement that all of `count` failing cases pass."""
    return f"{all_of(count, FAILING)} pass{'es' if count == 1 else ''}"


def some_pass(part: int, count: int) -> str:
    """The statement that so many of `count` failing cases pass."""
    return f"{some_of(part, count, FAILING)} pass{'es' if part == 1 else ''}"


def of_those(sentence: str, which: str) -> str:
    """A sentence about failing cases as one about those failing cases that are called `which`.

    >>> of_those("With `m` all 3 failing cases pass.", "remaining")
    'With `m` all 3 remaining cases pass.'
    """
    return sentence.replace(FAILING, f"{which} case")


def of_those_that_complete(sentence: str) -> str:
    """A sentence about failing cases as one about those of them that run to the end.

    >>> of_those_that_complete("In 2 of the 3 failing cases your numbers are right.")
    'In 2 of the 3 failing cases that run to the end your numbers are right.'
    """
    several = sentence.replace(f"{FAILING}s", f"{FAILING}s that run to the end")
    return re.sub(rf"{FAILING}\b", f"{FAILING} that runs to the end", several)


def some_of(part: int, count: int, noun: str) -> str:
    """A part of `count` things, or all of them: "2 of the 3 cases"."""
    return all_of(count, noun) if part == count else f"{part} of the {count} {noun}s"
