"""The answers of the corpus, with their labels. Headers are read at once, functions made when asked for."""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.corpus import answer_files, labels
from tests.corpus.functions import function_from_text


@dataclass(frozen=True)
class Entry:
    """One answer to an exercise.

    `says` is what a teacher would say about a wrong answer, or the style of a right one; `names` are the
    findings that would say it (none: the answer is right); `file` is the name of its file without suffix.
    """

    exercise: str
    title: str
    says: str
    names: tuple[str, ...] = ()
    file: str = ""

    def __str__(self) -> str:
        return f"{self.exercise}: {self.title}"

    @property
    def key(self) -> str:
        """EXERCISE/FILE: what other processes find the entry by."""
        return f"{self.exercise}/{self.file}"

    @property
    def text(self) -> str:
        """The whole answer as the learner typed it."""
        return answer_files.text_of(self.key)

    @property
    def function(self) -> Callable[..., Any]:
        """The launcher or formula that a check calls; the same object each time."""
        return function_of(self.key)

    def accepts(self, names: Iterable[str]) -> bool:
        """Whether a finding with these names says what the label asks for."""
        return labels.accepts(self.names, names)


@functools.cache
def function_of(key: str) -> Callable[..., Any]:
    """The function of an answer by its key."""
    importlib.import_module("flashlearn")  # before triton: routes launches to the observed interpreter
    context = {name: function_of(other).__globals__[name] for other, name in answer_files.names_used(key)}
    return function_from_text(
        answer_files.text_of(key), answer_files.launcher_of(key), filename=key, context=context
    )


@functools.cache
def _entries() -> dict[str, tuple[Entry, ...]]:
    entries: dict[str, list[Entry]] = {"wrong": [], "right": []}
    for key in answer_files.answer_keys():
        header, _ = answer_files.header_and_body(key)
        exercise, _, file = key.partition("/")
        names = tuple(name.strip() for name in header.get("names", "").split(";") if name.strip())
        if header.get("label") not in entries or bool(names) != (header["label"] == "wrong"):
            raise ValueError(f"{key}: a wrong answer has names, a right one has none: {header}")
        says = header.get("says", header["title"])
        entries[header["label"]].append(Entry(exercise, header["title"], says, names, file))
    return {label: tuple(found) for label, found in entries.items()}


def chosen(key: str, one_in: int) -> bool:
    """Whether a test that takes one of `one_in` takes this. The same ones, whatever is added beside them."""
    return zlib.crc32(key.encode()) % one_in == 0


def sample(entries: Iterable[Entry], one_in: int) -> list[Entry]:
    """About one of `one_in` of these answers, chosen by their keys."""
    return [entry for entry in entries if chosen(entry.key, one_in)]


def wrong_entries() -> tuple[Entry, ...]:
    """All wrong answers, sorted by exercise and file."""
    return _entries()["wrong"]


def right_entries() -> tuple[Entry, ...]:
    """All right answers, sorted by exercise and file."""
    return _entries()["right"]


def find_entries(exercise: str, name: str) -> list[Entry]:
    """The answers to an exercise with this title or file name."""
    entries = (*wrong_entries(), *right_entries())
    return [each for each in entries if each.exercise == exercise and name in (each.title, each.file)]


def find_entry(exercise: str, name: str) -> Entry:
    """The answer with this title or file name. Raises LookupError if there is none, or more than one."""
    found = find_entries(exercise, name)
    if len(found) != 1:
        raise LookupError(f"{len(found)} answers to {exercise} are called {name!r}")
    return found[0]
