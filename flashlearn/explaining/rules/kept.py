"""A rule about what was kept: the right answer for a part of the input, as if the rest were zero."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from flashlearn.explaining.rules.clue import SILENT, Clue, Seen, near, rule
from flashlearn.judging.tolerance import convert
from flashlearn.outcome import Finding, refacted
from flashlearn.running.plain_data import as_tuple

TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


PREFERRED = ("only the last tile", "only the first tile", "last tile missing", "first tile missing")
"""Where a short case allows several readings, that one is taken."""


def agreed(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding | None:
    """The part that is kept in every case, where a short case allows several readings."""
    common = set.intersection(*(set(finding.facts["readings"]) for finding in findings))
    name = next((n for n in PREFERRED if n in common), None)
    if name is None:
        return None
    facts = {key: value for key, value in findings[0].facts.items() if key != "readings"}
    left_out = findings[0].facts["readings"][name]
    return refacted(findings[0], {**facts, "part": name, "left_out": left_out}, (name,))


@rule("kept part", agree=agreed)
def kept_part(clue: Clue) -> Seen:
    """The reference's answer when an input is zero outside its last (or first) tile, or inside it."""
    if not bool(clue.got.any()) or not clue.check.got.dtype.is_floating_point:
        return SILENT  # zeros: every part may be missing
    index = clue.exercise.outputs.index(clue.name)
    inputs = convert(clue.inputs, torch.float64)
    silent, readings = True, {}
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.ndim == 0:
            continue
        for axis in range(max(0, value.ndim - 2), value.ndim):
            for mistake, part, mask in _parts(value, axis):
                silent = False
                kept = {**inputs, name: torch.where(mask, value, 0.0)}
                if _same(clue, as_tuple(clue.exercise.reference(**kept))[index].double()):
                    readings.setdefault(mistake, f"{name}{part}")
    if not readings:
        return SILENT if silent else None
    return {"output": clue.name, "case": clue.outcome.case.name, "readings": readings}


def _same(clue: Clue, answer: torch.Tensor) -> bool:
    """True if the learner has this answer. Wrong numbers may be larger than right ones, and rounded so."""
    if answer.shape != clue.got.shape or not bool((answer != 0).any()):
        return False
    finite = answer[torch.isfinite(answer)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    slack = max(clue.slack, 4 * torch.finfo(clue.check.got.dtype).eps * largest)
    return slack <= max(clue.slack, 0.1 * clue.check.error) and near(clue.got, answer, slack)


def _parts(value: torch.Tensor, axis: int):
    """(mistake, the slice that is left out, mask of what is kept) for tiles of every usual size."""
    length = value.shape[axis]
    line = torch.arange(length).reshape([-1 if d == axis else 1 for d in range(value.ndim)])
    seen, before = set(), ":, " * axis
    for tile in TILES:
        last = (length - 1) // tile * tile
        if tile >= length:
            break
        for mistake, part, mask in (
            ("last tile missing", f"[{before}{last}:]", line < last),
            ("first tile missing", f"[{before}:{tile}]", line >= tile),
            ("only the last tile", f"[{before}:{last}]", line >= last),
            ("only the first tile", f"[{before}{tile}:]", line < tile),
        ):
            key = (mistake, *mask.flatten().tolist())
            if key not in seen:
                seen.add(key)
                yield mistake, part, mask
