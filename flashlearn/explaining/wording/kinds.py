"""The kinds of findings, each with the function that puts its facts into words."""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.outcome import Finding, Said, words_are_made_by

KINDS: dict[str, Callable[..., Said]] = {}
"""A function of the facts, and of `parts` where there are some, for each kind."""


def kind(name: str) -> Callable[[Callable[..., Said]], Callable[..., Said]]:
    """Declare the decorated function as the words for a kind. Raises ValueError for a second one."""

    def declare(words: Callable[..., Said]) -> Callable[..., Said]:
        if name in KINDS:
            raise ValueError(f"two functions put {name!r} into words")
        KINDS[name] = words
        return words

    return declare


def said(finding: Finding) -> Said:
    """The words for a finding. Raises KeyError for a kind that has none."""
    return KINDS[finding.kind](**finding.facts, **({"parts": finding.parts} if finding.parts else {}))


words_are_made_by(said)


def joined(*sentences: str) -> str:
    """Sentences as one text; empty ones are left out."""
    return " ".join(filter(None, sentences))


def indices(index: tuple[int, ...]) -> str:
    """An index as it stands between brackets."""
    return ", ".join(map(str, index))
