"""Sentences that say the same of several cases: a key that is equal for those that differ only in numbers."""

from __future__ import annotations

import re

NUMBERS = re.compile(r"\b(?:fp|bf)?\d+")


def without_numbers(sentence: str) -> tuple[str]:
    """A key for an error's sentence: equal for sentences that differ only in numbers and dtypes."""
    return (NUMBERS.sub("#", sentence.strip().rstrip(".")),)
