"""Counts in sentences: "the failing case", "both failing cases", "all 7 failing cases"."""

from __future__ import annotations


def all_of(count: int, noun: str) -> str:
    """All of `count` things, called by their singular: "the case", "both cases", "all 3 cases"."""
    return {1: f"the {noun}", 2: f"both {noun}s"}.get(count, f"all {count} {noun}s")


def all_pass(count: int) -> str:
    """The statement that all of `count` failing cases pass."""
    return f"{all_of(count, 'failing case')} pass{'es' if count == 1 else ''}"


def some_of(part: int, count: int, noun: str) -> str:
    """A part of `count` things, or all of them: "2 of the 3 cases"."""
    return all_of(count, noun) if part == count else f"{part} of the {count} {noun}s"
