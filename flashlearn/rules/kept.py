"""A rule about what was kept: the right answer for a part of the input, as if the rest were zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from flashlearn.outcome import Finding
from flashlearn.rules.clue import SILENT, Clue, Said, near
from flashlearn.tolerance import as_tuple, convert

TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def kept_part(clue: Clue) -> Said:
    """The reference's answer when an input is zero outside its last (or first) tile, or inside it."""
    if not bool(clue.got.any()) or not clue.check.got.dtype.is_floating_point:
        return SILENT  # zeros: every part may be missing
    index = clue.exercise.outputs.index(clue.name)
    inputs = convert(clue.inputs, torch.float64)
    silent, names = True, {}
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.ndim == 0:
            continue
        for axis in range(max(0, value.ndim - 2), value.ndim):
            for mistake, words, mask in _parts(value, axis):
                silent = False
                kept = {**inputs, name: torch.where(mask, value, 0.0)}
                if _same(clue, as_tuple(clue.exercise.reference(**kept))[index].double()):
                    sentence = f"{clue.name} is what comes out if {name}{words} is taken for zero"
                    names.setdefault(mistake, f"{sentence} (case {clue.outcome.case.name}).")
    if not names:
        return SILENT if silent else None
    first = next(iter(names))
    return Finding(first, names[first], STEPS[first], evidence={"names": names})


def _same(clue: Clue, answer: torch.Tensor) -> bool:
    """True if the learner has this answer. Wrong numbers may be larger than right ones, and rounded so."""
    if answer.shape != clue.got.shape or not bool((answer != 0).any()):
        return False
    finite = answer[torch.isfinite(answer)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    slack = max(clue.slack, 4 * torch.finfo(clue.check.got.dtype).eps * largest)
    return slack <= max(clue.slack, 0.1 * clue.check.error) and near(clue.got, answer, slack)


def agreed(findings: Sequence[Finding]) -> Finding | None:
    """The part that is kept in every case, where a short case allows several readings."""
    common = set.intersection(*(set(finding.evidence["names"]) for finding in findings))
    name = next((n for n in STEPS if n in common), None)
    if name is None:
        return None
    sentence = findings[0].evidence["names"][name]
    return replace(findings[0], mistake=name, sentence=sentence, next_step=STEPS[name], evidence={})


STEPS = {
    "only the last tile": "Does each step add to the sum, or replace it?",
    "only the first tile": "Does the loop run more than once, and do the addresses move?",
    "last tile missing": "Where does the loop end? triton.cdiv counts the last, incomplete block too.",
    "first tile missing": "Where does the loop start?",
}


def _parts(value: torch.Tensor, axis: int):
    """(mistake, the slice that is left out, mask of what is kept) for tiles of every usual size."""
    length = value.shape[axis]
    line = torch.arange(length).reshape([-1 if d == axis else 1 for d in range(value.ndim)])
    seen, before = set(), ":, " * axis
    for tile in TILES:
        last = (length - 1) // tile * tile
        if tile >= length:
            break
        for mistake, words, mask in (
            ("last tile missing", f"[{before}{last}:]", line < last),
            ("first tile missing", f"[{before}:{tile}]", line >= tile),
            ("only the last tile", f"[{before}:{last}]", line >= last),
            ("only the first tile", f"[{before}{tile}:]", line < tile),
        ):
            key = (mistake, *mask.flatten().tolist())
            if key not in seen:
                seen.add(key)
                yield mistake, words, mask
