"""Rules about the place: which elements are wrong, and what they have in common."""

from __future__ import annotations

import math

import torch

from flashlearn.explaining.rules.clue import SILENT, Clue, Facts, Seen, rule


@rule("never written")
def never_written(clue: Clue) -> Seen:
    """Elements that no program stored, all others right; numbers of their own came in by torch."""
    if clue.check.writers is None:
        return None
    unwritten = clue.check.writers < 0
    if not unwritten.any() or (clue.bad & ~unwritten).any():
        return None
    held = clue.check.got[unwritten.reshape(clue.check.got.shape)]
    if bool(held.isfinite().any()) and not bool((held == held[0]).all()):
        return None
    return _elements(clue, unwritten)


@rule("not finite")
def not_finite(clue: Clue) -> Seen:
    """NaN or infinity where the truth is finite."""
    bad = ~torch.isfinite(clue.got) & torch.isfinite(clue.expected)
    if not bad.any():
        return None
    found = _elements(clue, bad)
    got, expected = float(clue.check.got[found["first"]]), float(clue.expected[found["first"]])
    return {**found, "got": got, "expected": expected}


@rule("ragged tail")
def ragged_tail(clue: Clue) -> Seen:
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
        only = bad.ndim == 1
        case = clue.outcome.case.name
        return {"output": clue.name, "case": case, "first": first, "axis": None if only else axis}
    return None


@rule("some heads")
def some_heads(clue: Clue) -> Seen:
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
    which = tuple(int(i) for i in wrong.nonzero().flatten())
    return {"output": clue.name, "case": clue.outcome.case.name, "heads": heads, "wrong": which}


@rule("some programs")
def some_programs(clue: Clue) -> Seen:
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
    case, guilty = clue.outcome.case.name, tuple(guilty)
    return {"output": clue.name, "case": case, "programs": len(programs), "guilty": guilty}


@rule("some rows")
def some_rows(clue: Clue) -> Seen:
    """Whole rows wrong and whole rows right."""
    bad = clue.bad
    if bad.ndim < 2 or bad.shape[-2] < 2:
        return SILENT if bad.ndim >= 2 else None
    rows = bad.any(dim=-1)
    if rows.all() or not rows.any():  # no element may be too far off, and all of them together
        return None
    return _elements(clue, rows)


def _elements(clue: Clue, which: torch.Tensor) -> Facts:
    """How many there are of what a mask marks, and where the first is."""
    return {
        "output": clue.name,
        "case": clue.outcome.case.name,
        "count": int(which.sum()),
        "total": which.numel(),
        "first": tuple(int(i) for i in which.nonzero()[0]),
    }
