"""Rules about the place: which elements are wrong, and what they have in common."""

from __future__ import annotations

import math

import torch

from flashlearn.outcome import Finding
from flashlearn.rules.clue import SILENT, Clue, Said, index_words


def never_written(clue: Clue) -> Said:
    """Elements that no program stored, all others right."""
    if clue.check.writers is None:
        return None
    unwritten = clue.check.writers < 0
    if not unwritten.any() or (clue.bad & ~unwritten).any():
        return None
    first = tuple(unwritten.nonzero()[0])
    share = f"{int(unwritten.sum())} of {unwritten.numel()}"
    sentence = (
        f"No program writes {clue.name}[{index_words(first)}] in case {clue.outcome.case.name}: {share} "
        "elements keep what torch.empty held."
    )
    return Finding("never written", sentence, "Do the grid and the mask of the store cover the whole output?")


def not_finite(clue: Clue) -> Said:
    """NaN or infinity where the truth is finite."""
    bad = ~torch.isfinite(clue.got) & torch.isfinite(clue.expected)
    if not bad.any():
        return None
    first = tuple(int(i) for i in bad.nonzero()[0])
    value = float(clue.check.got[first])
    sentence = (
        f"In case {clue.outcome.case.name} {clue.name}[{index_words(first)}] is {value} ({int(bad.sum())} of "
        f"{bad.numel()} elements are not finite), where {float(clue.expected[first]):.3g} is right."
    )
    step = "Look for exp of a large number, ∞ − ∞ or 0/0 on the way there."
    return Finding("not finite", sentence, step)


def ragged_tail(clue: Clue) -> Said:
    """Wrong only in the last, incomplete block of rows or columns."""
    bad = clue.bad
    if not bad.any():
        return None
    for axis in range(bad.ndim):
        length = bad.shape[axis]
        others = [d for d in range(bad.ndim) if d != axis]
        along = bad.any(dim=others) if others else bad
        first = int(along.nonzero()[0])
        if first == 0 or not bool(along[first:].all()) or length - first > length // 2:
            continue
        if first & (first - 1) and first % 16:
            continue  # not where a block can begin
        where = (
            f"from index {first} of dimension {axis} to the end" if bad.ndim > 1 else f"from index {first} on"
        )
        sentence = (
            f"{clue.name} is right except {where}: the last block, which is not full (case "
            f"{clue.outcome.case.name})."
        )
        return Finding("ragged tail", sentence, "Look at the masks, and at `other=` for the lanes they hide.")
    return None


def some_heads(clue: Clue) -> Said:
    """Some heads right as a whole, others wrong."""
    bad = clue.bad
    if bad.ndim < 3:
        return None
    blocks = bad.ndim - 2 if bad.ndim > 3 else 1
    heads = math.prod(bad.shape[:blocks])
    if heads < 2:
        return None
    wrong = bad.reshape(heads, -1).any(1)
    if wrong.all():
        return None
    which = [int(i) for i in wrong.nonzero().flatten()]
    named = ", ".join(map(str, which[:8])) + (" …" if len(which) > 8 else "")
    sentence = (
        f"{heads - len(which)} of {heads} heads of {clue.name} are right as a whole; wrong are {named}, "
        f"batch and head counted as one number (case {clue.outcome.case.name})."
    )
    step = "What differs from head to head is the offset: which strides does each pointer take for it?"
    return Finding("some heads", sentence, step)


def some_programs(clue: Clue) -> Said:
    """All that is wrong was written by few of the programs, and the others' blocks are right."""
    writers = clue.check.writers
    if writers is None:
        return None
    writers = writers.reshape(clue.bad.shape)
    programs = [int(p) for p in writers.unique() if p >= 0]
    guilty = [p for p in programs if bool(clue.bad[writers == p].any())]
    if (
        len(programs) < 2
        or not guilty
        or len(guilty) > len(programs) / 2
        or bool((clue.bad & (writers < 0)).any())
    ):
        return None
    which = ", ".join(map(str, guilty[:6])) + (" …" if len(guilty) > 6 else "")
    sentence = (
        f"All wrong elements of {clue.name} were written by {len(guilty)} of {len(programs)} programs, "
        f"number {which} (case {clue.outcome.case.name}); the others' blocks are right."
    )
    return Finding("some programs", sentence, "What is different for these programs: first, last, ragged?")


def some_rows(clue: Clue) -> Said:
    """Whole rows wrong and whole rows right."""
    bad = clue.bad
    if bad.ndim < 2 or bad.shape[-2] < 2:
        return SILENT if bad.ndim >= 2 else None
    rows = bad.any(dim=-1)
    if rows.all():
        return None
    first = tuple(rows.nonzero()[0])
    sentence = (
        f"{int(rows.sum())} of {rows.numel()} rows of {clue.name} are wrong in case {clue.outcome.case.name}"
        f"; the first is {clue.name}[{index_words(first)}]."
    )
    return Finding("some rows", sentence, "What do these rows have that the others do not?")
