"""A rule about what was read: input that the answer depends on, and that no program ever loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from flashlearn.explaining.rules.clue import SILENT, Clue, Facts, Seen, near, rule
from flashlearn.judging.tolerance import convert
from flashlearn.outcome import Finding, untyped
from flashlearn.running.plain_data import as_tuple

LEADING = 2
"""Dimensions in front, batch and head, that count as one."""

HEADS, ANYWHERE = -1, -2


@dataclass(frozen=True)
class Unread:
    """What is missing of one input: lines `first` to `last` of `length` along `axis`.

    `axis` is a dimension of the input, HEADS for batch and head together, or ANYWHERE for no whole lines.
    """

    name: str
    axis: int
    first: int
    last: int
    length: int
    elements: int


@dataclass(frozen=True)
class Example:
    """What was not read in one case."""

    case: str
    unread: tuple[Unread, ...]


FIRST_TILE = ("the first tile again and again", "the first tile only", "addresses do not advance")
"""What exercises call it when nothing but the first tile is read."""


def _matters(clue: Clue, name: str, unread: torch.Tensor) -> bool:
    """True if the right answer changes with the numbers that were never read."""
    index = clue.exercise.outputs.index(clue.name)
    inputs = convert(clue.inputs, torch.float64)
    if not inputs[name].is_floating_point():
        return False
    moved = torch.where(unread, inputs[name] + 1.0, inputs[name])
    before = as_tuple(clue.exercise.reference(**inputs))[index]
    after = as_tuple(clue.exercise.reference(**{**inputs, name: moved}))[index]
    return not near(after, before, clue.check.allowed)


def _lines(name: str, unread: torch.Tensor) -> Unread:
    """The missing lines along the first axis that they fill; batch and head count as one axis."""
    shape = unread.shape
    lead = LEADING if unread.ndim > LEADING + 1 or (unread.ndim == LEADING + 1 and "lse" in name) else 0
    whole = unread.reshape(-1, *shape[lead:]) if lead else unread
    count = int(unread.sum())
    for axis in range(whole.ndim):
        others = [d for d in range(whole.ndim) if d != axis]
        every = whole.all(dim=others) if others else whole
        some = whole.any(dim=others) if others else whole
        if not bool((every == some).all()) or not bool(every.any()) or bool(every.all()):
            continue
        first, last = int(every.nonzero()[0]), int(every.nonzero()[-1])
        if int(every.sum()) == last - first + 1 or (lead and axis == 0):
            number = HEADS if lead and axis == 0 else axis + (lead - 1 if lead else 0)
            return Unread(name, number, first, last, len(every), count)
    return Unread(name, ANYWHERE, 0, 0, 0, count)


def with_place(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding:
    """What the missing parts have in common in all cases: the last tile, the first, all but the first …"""
    every = [finding.facts["example"].unread for finding in findings]
    names = set.intersection(*({one.name for one in found} for found in every))
    for name in sorted(names):
        parts = [next(one for one in found if one.name == name) for found in every]
        told = _told(name, parts, clues, {one.name for found in every for one in found})
        if told is not None:
            return told
    return findings[0]


def _told(name: str, parts: list[Unread], clues: Sequence[Clue], all_names: set[str]) -> Finding | None:
    example = Example(clues[0].outcome.case.name, (parts[0],))
    facts = {"output": clues[0].name, "tensor": name, "example": example}
    if all(p.axis == HEADS for p in parts):
        return untyped("some heads never read", facts, called=("permuted heads",))
    if any(p.axis < 0 for p in parts):
        return None
    if all(p.last == p.length - 1 for p in parts):
        return _suffix(facts, parts, clues, all_names)
    if all(p.first == 0 for p in parts):
        return untyped("first part never read", facts, called=("first tile missing",))
    return None


def _suffix(facts: Facts, parts: list[Unread], clues: Sequence[Clue], all_names: set[str]) -> Finding:
    other = _other_length(parts, clues)
    name, declared = facts["tensor"], clues[0].exercise.explained.mistakes
    if other:
        ends = (f"loop over {other}", "loop end without S_k − S_q")
        called = (*(n for n in declared if n in ends), "last tile missing")[:1]
        return untyped("read up to another length", {**facts, "length": other}, called=called)
    tile = max(p.first for p in parts)
    stays = all(p.first in (0, tile) for p in parts) and tile and not tile & (tile - 1)
    if stays and any(p.length - p.first > tile for p in parts):
        longest = max(p.length for p in parts)
        alone = len(all_names) == 1 and len(_siblings(clues[0], name)) > 0
        own = (f"{_symbol(name)}'s pointer is not advanced",) if alone else ()
        called = (*(n for n in (*own, *FIRST_TILE) if n in declared), "only the first tile")[:1]
        more = {"tile": tile, "longest": longest, "alone": alone}
        return untyped("only first tile read", {**facts, **more}, called=called)
    return untyped("end never read", facts, called=("last tile missing",))


def _symbol(name: str) -> str:
    """The mathematics' name of an input: dO for do."""
    return name[0] + name[1:].upper() if len(name) == 2 and name[0] == "d" else name.upper()


def _siblings(clue: Clue, name: str) -> list[str]:
    """Other inputs of the same shape."""
    mine = clue.inputs[name].shape
    return [n for n, t in clue.inputs.items() if n != name and getattr(t, "shape", None) == mine]


def _other_length(parts: list[Unread], clues: Sequence[Clue]) -> str:
    """The size of the case at which every missing part begins, if it is one and the same."""
    names = set(clues[0].outcome.case.sizes)
    for name in sorted(names):
        sizes = [clue.outcome.case.sizes.get(name) for clue in clues]
        if all(p.first == size for p, size in zip(parts, sizes, strict=True)) and len(set(sizes)) > 1:
            return name
    return ""


@rule("never read", agree=with_place)
def never_read(clue: Clue) -> Seen:
    """Input that no program loads, although this output depends on it: the numbers cannot be right."""
    seen = clue.outcome.observation
    unread = {name: mask for name, mask in (seen.unread if seen is not None else {}).items() if mask.any()}
    found = tuple(_lines(name, mask) for name, mask in unread.items() if _matters(clue, name, mask))
    if not found:
        return SILENT
    return {"output": clue.name, "example": Example(clue.outcome.case.name, found)}
