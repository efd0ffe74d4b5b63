"""A rule about what was read: input that the answer depends on, and that no program ever loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from flashlearn.outcome import Finding
from flashlearn.rules.clue import SILENT, Clue, Said
from flashlearn.tolerance import as_tuple, convert

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

    @property
    def part(self) -> str:
        """The slice as torch would write it; heads, and elements here and there, in words."""
        if self.axis == ANYWHERE:
            return f"{self.elements} elements of {self.name}"
        if self.axis == HEADS:
            several = f"heads {self.first} to {self.last}"
            return (
                f"{self.name}, {several if self.last > self.first else f'head {self.first}'} of {self.length}"
            )
        stop = "" if self.last == self.length - 1 else self.last + 1
        return f"{self.name}[{':, ' * self.axis}{self.first or ''}:{stop}]"


FIRST_TILE = ("the first tile again and again", "the first tile only", "addresses do not advance")
"""What exercises call it when nothing but the first tile is read."""


def never_read(clue: Clue) -> Said:
    """Input that no program loads, although this output depends on it: the numbers cannot be right."""
    seen = clue.outcome.observation
    unread = {name: mask for name, mask in (seen.unread if seen is not None else {}).items() if mask.any()}
    found = [_lines(name, mask) for name, mask in unread.items() if _matters(clue, name, mask)]
    if not found:
        return SILENT
    parts, case = ", ".join(one.part for one in found), clue.outcome.case.name
    sentence = f"No program ever reads all that {clue.name} depends on. Never read in case {case}: {parts}."
    step = "Compare the addresses of these loads with the tensor's shape, and with where the loop ends."
    return Finding("never read", sentence, step, evidence={"unread": found})


def _matters(clue: Clue, name: str, unread: torch.Tensor) -> bool:
    """True if the right answer changes with the numbers that were never read."""
    index = clue.exercise.outputs.index(clue.name)
    inputs = convert(clue.inputs, torch.float64)
    if not inputs[name].is_floating_point():
        return False
    moved = torch.where(unread, inputs[name] + 1.0, inputs[name])
    before = as_tuple(clue.exercise.reference(**inputs))[index]
    after = as_tuple(clue.exercise.reference(**{**inputs, name: moved}))[index]
    return not bool(((after - before).abs() <= clue.check.allowed).all())


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
    every = [finding.evidence["unread"] for finding in findings]
    names = set.intersection(*({one.name for one in found} for found in every))
    for name in sorted(names):
        parts = [next(one for one in found if one.name == name) for found in every]
        told = _told(name, parts, clues, {one.name for found in every for one in found})
        if told is not None:
            return replace(findings[0], mistake=told[0], sentence=told[1], next_step=told[2])
    return findings[0]


def _told(
    name: str, parts: list[Unread], clues: Sequence[Clue], all_names: set[str]
) -> tuple[str, str, str] | None:
    where = f"Never read in case {clues[0].outcome.case.name}: {parts[0].part}."
    if all(p.axis == HEADS for p in parts):
        said = f"{name} is read for some heads only. {where}"
        return "permuted heads", said, f"Which strides does the pointer of {name} take for batch and head?"
    if any(p.axis < 0 for p in parts):
        return None
    if all(p.last == p.length - 1 for p in parts):
        return _suffix(name, parts, clues, where, all_names)
    if all(p.first == 0 for p in parts):
        said = f"The first part of {name} is never read, and {clues[0].name} depends on it. {where}"
        return "first tile missing", said, "Where does the loop start?"
    return None


def _suffix(
    name: str, parts: list[Unread], clues: Sequence[Clue], where: str, all_names: set[str]
) -> tuple[str, str, str]:
    other = _other_length(parts, clues)
    exercise = clues[0].exercise
    if other:
        declared = [n for n in exercise.mistakes if n in (f"loop over {other}", "loop end without S_k − S_q")]
        said = f"{name} is read up to {other}, not to its own end: the loop ends at the other length. {where}"
        return (declared or ["last tile missing"])[0], said, "Whose length is it that the loop counts to?"
    tile = max(p.first for p in parts)
    stays = all(p.first in (0, tile) for p in parts) and tile and not tile & (tile - 1)
    if stays and any(p.length - p.first > tile for p in parts):
        longest = max(p.length for p in parts)
        said = f"Of {name} only the first tile is ever read, {tile} of up to {longest}. {where}"
        alone = len(all_names) == 1 and len(_siblings(clues[0], name)) > 0
        if alone:
            said += " The other inputs are read to the end: this pointer alone stays where it is."
        called = (f"{_symbol(name)}'s pointer is not advanced",) if alone else ()
        known = [n for n in (*called, *FIRST_TILE) if n in exercise.mistakes]
        step = f"What moves the pointer of {name} from one step to the next?"
        return (known or ["only the first tile"])[0], said, step
    said = f"The end of {name} is never read, and {clues[0].name} depends on it. {where}"
    return (
        "last tile missing",
        said,
        "Where does the loop end? triton.cdiv counts the last, incomplete block too.",
    )


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
