"""The kinds of findings, each with the function that puts its facts into words."""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.outcome import Finding, StringKind, Wording, words_are_made_by

KINDS: dict[str, Callable[..., Wording]] = {}
"""A function of the facts, and of `parts` where there are some, for each kind."""


def kind(name: str) -> Callable[[Callable[..., Wording]], Callable[..., Wording]]:
    """Declare the decorated function as the words for a kind. Raises ValueError for a second one."""

    def declare(words: Callable[..., Wording]) -> Callable[..., Wording]:
        if name in KINDS:
            raise ValueError(f"two functions put {name!r} into words")
        KINDS[name] = words
        return words

    return declare


def said(finding: Finding) -> Wording:
    """The words for a finding. Raises KeyError for a kind that has none."""
    return finding.wording


def _words(kind: StringKind) -> Wording:
    return KINDS[kind.name](**kind.facts, **({"parts": kind.parts} if kind.parts else {}))


words_are_made_by(_words)


def joined(*sentences: str) -> str:
    """Sentences as one text; empty ones are left out."""
    return " ".join(filter(None, sentences))


def indices(index: tuple[int, ...]) -> str:
    """An index as it stands between brackets."""
    return ", ".join(map(str, index))
