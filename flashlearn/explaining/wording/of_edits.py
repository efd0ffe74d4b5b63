"""One small change of the learner's text that makes every wrong case right: what it is, and what to ask."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flashlearn.explaining.wording.kinds import Wording, joined, kind, said
from flashlearn.outcome import Finding

LONGEST = 64
"""Characters of a text that are quoted; of a longer one, what differs."""

STEPS = {
    "comparison": "Which index is the first, and which the last, that may take part?",
    "bound not moved": "What does the index stand for in the second round of the loop, and in the last?",
    "not times its size": "How far apart do the elements of two neighbouring programs begin?",
    "bounds exchanged": "Which index runs along which dimension?",
    "rounded up": "How many blocks does it take if the last one is not full?",
    "factor": "Write the formula beside the line, and compare them factor by factor.",
    "one too many": "How many blocks are there where the size is a multiple of the block?",
    "rounded down": "What happens to the last block where the size is no multiple?",
    "name": "Say aloud what each of the two names stands for.",
    "arguments": "Compare the order of the arguments with the order of the parameters.",
    "order": "Write the shapes of both operands beside the product.",
    "turned round": "What are the rows of this operand, and over which of its axes does the product sum?",
    "transposed": "Write the shape of each operand beside the product, and what is summed over.",
    "axis": "Which of the tile's two axes does this vector run along?",
    "cast": "In which precision should this be computed, and where is it rounded?",
    "narrow": "In which precision should this be computed, and where is it rounded?",
    "dtype": "In which precision should this be summed?",
    "strides": "Whose strides are these, and whose pointer do they move?",
    "whole blocks": "How long is the tensor in memory: as long as all blocks, or as its size says?",
    "pitch": "How many numbers belong to one program, or one head, in this tensor?",
    "another mask": "Which indices move this address, and which of them does the mask know?",
    "another size": "Which size is it that is cut into blocks here?",
    "number of tiles": "Is this a number of tiles, or of elements?",
    "brackets": "Multiply the brackets out, and compare with the formula.",
    "not rescaled": "To which maximum does the sum so far belong?",
    "other": "What must the idle lanes hold so that they change nothing?",
    "filler": "What must the idle lanes hold so that they change nothing?",
    "masked in part": "Along which of its dimensions may the tile reach beyond the tensor?",
    "one off": "Is it the last one that is meant here, or the one behind it?",
    "guard": "Where is it 0 or infinite, and what should come out there in the end?",
    "added": "Which programs have a share in this element?",
    "inside the loop": "What should happen in every round, and what once?",
    "behind the loop": "What should happen in every round, and what once?",
    "alike": "What do the lines beside it do for the other tensors?",
    "not shifted": "Which exponent is never above 0?",
    "number as it is": "How far apart do the elements of two neighbouring programs begin?",
    "program axis": "Along which axis of the grid do the programs count this index?",
    "line missing": "Which pointers does a program move to its own batch and head?",
    "exchanged": "Which of the two numbers runs faster in memory, and which slower?",
    "a little added": "For which rows must something be done, and what does it do to the others?",
    "no axis": "Whose number should this be: that of a row, of a column, or of the tile?",
    "step": "How many elements does one round take in?",
    "hidden lanes": "What do the lanes hold that do not exist?",
    "thrown away": "Which functions change their arguments, and which return a new value?",
    "guard kept": "What does the next round, or the store, make of it in a row that has seen nothing?",
    "order of lines": "Which of the two lines needs what the other one makes?",
}
"""A question that leads to the reason, by the kind of the edit."""

COMMENT = re.compile(r"(?<=\s)#[^\n]*(?=\n)")

WHY = "Why?"
"""What to ask where nothing more is known of the reason."""

WITHOUT = {
    "statement left out": "Line {line}, `{old}`, is one too many: without it",
    "inside the loop": "Line {line}, `{old}`, stands in the loop: behind it",
    "behind the loop": "Line {line}, `{old}`, stands behind the loop: as its last line",
    "order of lines": "Lines {line} and the next, `{old}` and `{new}`, stand in the wrong order: exchanged",
}
INSTEAD = {
    "alike": "Line {line} has `{old}`, unlike a line beside it for another tensor: with `{new}`",
    "not shifted": "Line {line} subtracts no maximum from `{old}`: with `{new}`",
    "comparison": "Line {line} compares `{old}`: with `{new}`",
    "bound not moved": "Line {line} compares `{old}` in every round of the loop: with `{new}`",
    "bounds exchanged": "Two bounds have changed places, `{old}`: with `{new}`",
    "arguments": "Line {line} hands over `{old}`: in the order `{new}`",
    "order": "Line {line} takes `{old}`: with `{new}`",
    "rounded up": "Line {line} rounds down, `{old}`: with `{new}`",
    "rounded down": "Line {line} rounds up, `{old}`: with `{new}`",
    "other": "Line {line} leaves open what the masked lanes of a load hold: with `{new}`",
    "unmasked": "Line {line} has no mask: with `{new}`",
    "not rescaled": "Line {line} goes on with a sum of the old maximum: with `{new}`",
    "factor": "Line {line} lacks a factor at `{old}`: with `{new}`",
    "taken": "Line {line} computes `{old}`: with the argument `{new}` in its place",
    "one too many": "Line {line} adds one also where nothing is left over, `{old}`: with `{new}`",
    "step": "Line {line} goes on by `{old}` from one round to the next: with `{new}`",
    "hidden lanes": "Line {line} takes in lanes that the mask hides, `{old}`: with `{new}`",
    "thrown away": "Line {line} does nothing with the result of `{old}`: with `{new}`",
    "guard kept": "Line {line}, `{old}`, puts the guard's number into the value itself: with a name of its "
    "own for it, used in the exponents alone",
    "a little added": "Line {line} takes a little more than the sum, `{old}`: with `{new}`",
    "no axis": "Line {line} takes one number of the whole tile, `{old}`: with `{new}`",
    "below zero": "In line {line} the loop may begin below 0, at `{old}`: with `{new}`",
    "divisor": "Line {line} lacks a division at `{old}`: with `{new}`",
    "masked in part": "Line {line} masks with `{old}` alone: with `{new}`",
    "guard": "Line {line} has no guard at `{old}`: with `{new}`",
    "added": "Line {line} stores what several programs have a share in, `{old}`: with `{new}`",
    "exponential": "Line {line} lacks an exponential at `{old}`: with `{new}`",
    "summand": "Line {line} lacks a summand at `{old}`: with `{new}`",
    "line missing": "Beside line {line}, `{old}`, a line like it is missing: with `{new}`",
    "sign": "A sign is wrong in line {line}: with `{new}`",
}


@kind("one edit")
def one_edit(
    edit: str, line: int, old: str, new: str, cases: int, output: str, also: Sequence[int] = ()
) -> Wording:
    """An edit that was tried, and mends everything, or all that is wrong with one output."""
    few = {1: "the wrong case comes", 2: "both wrong cases come"}
    what = few.get(cases, f"all {cases} wrong cases come")
    mended = f"{output} comes" if output else what
    end = f" out right{' everywhere' if output else ''}."
    return Wording(f"{_start(edit, line, old, new, also)}, {mended}{end}", STEPS.get(edit, WHY))


def _start(edit: str, line: int, old: str, new: str, also: Sequence[int]) -> str:
    """What is edited, and where, up to what comes of it."""
    told = WITHOUT.get(edit) or INSTEAD.get(edit) or "Line {line} has `{old}`: with `{new}`"
    shown, put = (old, new) if edit in WITHOUT else _both(old, new)
    start = told.format(line=line, old=_one_line(shown), new=_one_line(put))
    lines = [number for number in dict.fromkeys(also) if number != line]
    others = f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}" if lines else "the same line"
    return f"{start}, and likewise in {others}" if also else start


@kind("two edits")
def two_edits(parts: tuple[Finding, ...], reached: int, cases: int) -> Wording:
    """Two edits, of which the first mends some of the wrong cases, and both all of them."""
    first, second = (
        _start(**{k: part.facts[k] for k in ("edit", "line", "old", "new", "also")}) for part in parts
    )
    verb = "comes" if reached == 1 else "come"
    steps = joined(*dict.fromkeys(STEPS.get(part.facts["edit"], WHY) for part in parts))
    return Wording(
        f"Two things at once. {first}, {reached} of the {cases} wrong cases {verb} out right. "
        f"{second} as well, all of them do.",
        steps,
    )


@kind("edit and mistake")
def edit_and_mistake(parts: tuple[Finding, ...]) -> Wording:
    """An edit after which every case comes to its end, and the mistake that is wrong then."""
    edit, mistake = parts
    put = _start(**{k: edit.facts[k] for k in ("edit", "line", "old", "new", "also")})
    other = said(mistake)
    return Wording(
        f"{put}, every case comes to its end. What is wrong then is a second mistake: {other.sentence}",
        joined(STEPS.get(edit.facts["edit"], WHY), other.next_step),
    )


@kind("and one edit")
def and_one_edit(parts: tuple[Finding, ...]) -> Wording:
    """What came of the mistake, and the edit that mends it."""
    finding, edit = map(said, parts)
    return Wording(joined(finding.sentence, edit.sentence), edit.next_step)


def _both(old: str, new: str) -> tuple[str, str]:
    """Two texts; of long ones the part in which they differ, with a word around it."""
    if max(len(old), len(new)) <= LONGEST:
        return old, new
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = max(0, same - 20)
    start = old.rfind(" ", 0, start) + 1 if start else 0
    before = "… " if start else ""
    return tuple(_cut(before + text[start : len(text) - max(0, tail - 14)], tail > 14) for text in (old, new))


def _cut(text: str, more: bool) -> str:
    return f"{text} …" if more else text


def _one_line(text: str) -> str:
    text = " ".join(COMMENT.sub("", text).split())
    return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST]} …"
