"""Rules about what was read, and about the part of an input that was kept."""

from __future__ import annotations

from flashlearn.explaining.rules.reading import ANYWHERE, HEADS, Example, Unread
from flashlearn.explaining.wording.kinds import Wording, joined, kind

LAST_BLOCK = "Where does the loop end? triton.cdiv counts the last, incomplete block too."
KEPT = {
    "only the last tile": "Does each step add to the sum, or replace it?",
    "only the first tile": "Does the loop run more than once, and do the addresses move?",
    "last tile missing": LAST_BLOCK,
    "first tile missing": "Where does the loop start?",
}
"""The next step, by the part that was left out or kept."""

OF_INPUTS = ("some heads never read", "read up to another length", "only first tile read")
"""Kinds whose sentence speaks of an input and does not name the output."""


def part(unread: Unread) -> str:
    """What is missing, as torch would slice it; heads, and elements here and there, in words."""
    if unread.axis == ANYWHERE:
        return f"{unread.elements} elements of {unread.name}"
    if unread.axis == HEADS:
        several = f"heads {unread.first} to {unread.last}"
        heads = several if unread.last > unread.first else f"head {unread.first}"
        return f"{unread.name}, {heads} of {unread.length}"
    stop = "" if unread.last == unread.length - 1 else unread.last + 1
    return f"{unread.name}[{':, ' * unread.axis}{unread.first or ''}:{stop}]"


def _where(example: Example | None) -> str:
    if example is None:
        return ""
    return f"Never read in case {example.case}: {', '.join(map(part, example.unread))}."


@kind("never read")
def never_read(output: str, example: Example | None = None) -> Wording:
    """Input that no program loads, although the output depends on it."""
    step = "Compare the addresses of these loads with the tensor's shape, and with where the loop ends."
    return Wording(joined(f"No program ever reads all that {output} depends on.", _where(example)), step)


@kind("some heads never read")
def some_heads_never_read(output: str, tensor: str, example: Example | None = None) -> Wording:
    """Whole heads that no program loads."""
    step = f"Which strides does the pointer of {tensor} take for batch and head?"
    return Wording(joined(f"{tensor} is read for some heads only.", _where(example)), step)


@kind("first part never read")
def first_part_never_read(output: str, tensor: str, example: Example | None = None) -> Wording:
    """A loop that starts too late."""
    sentence = f"The first part of {tensor} is never read, and {output} depends on it."
    return Wording(joined(sentence, _where(example)), "Where does the loop start?")


@kind("end never read")
def end_never_read(output: str, tensor: str, example: Example | None = None) -> Wording:
    """A loop that ends too early."""
    sentence = f"The end of {tensor} is never read, and {output} depends on it."
    return Wording(joined(sentence, _where(example)), LAST_BLOCK)


@kind("read up to another length")
def read_up_to_another_length(
    output: str, tensor: str, length: str, example: Example | None = None
) -> Wording:
    """A loop that ends at the `length` of something else."""
    sentence = f"{tensor} is read up to {length}, not to its own end: the loop ends at the other length."
    return Wording(joined(sentence, _where(example)), "Whose length is it that the loop counts to?")


@kind("only first tile read")
def only_first_tile_read(
    output: str, tensor: str, tile: int, longest: int, example: Example | None = None, alone: bool = False
) -> Wording:
    """A pointer that stays where it is; `alone` if those of other inputs move."""
    sentence = f"Of {tensor} only the first tile is ever read, {tile} of up to {longest}."
    others = "The other inputs are read to the end: this pointer alone stays where it is." if alone else ""
    step = f"What moves the pointer of {tensor} from one step to the next?"
    return Wording(joined(sentence, _where(example), others), step)


@kind("kept part")
def kept_part(output: str, case: str, part: str, left_out: str) -> Wording:
    """The right answer for a part of an input: a slice was `left_out`."""
    return Wording(f"{output} is what comes out if {left_out} is taken for zero (case {case}).", KEPT[part])
