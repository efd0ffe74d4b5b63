"""A rule about where numbers were stored: the right ones, at the places of another tensor's layout."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from flashlearn.explaining.rules.clue import SILENT, Clue, Seen, near, rule
from flashlearn.outcome import Finding, refacted


def agreed(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding | None:
    """The tensor that has this layout in every case; of several the one whose gradient the output is."""
    common = set.intersection(*(set(finding.facts["tensors"]) for finding in findings))
    if not common:
        return None
    output = findings[0].facts["output"]
    tensor = output[1:] if output[1:] in common else min(common)
    own = f"strides of {tensor} used for {output}"
    called = (own,) if own in clues[0].exercise.explained.mistakes else ()
    return refacted(findings[0], {"output": output, "tensor": tensor}, called)


@rule("stored with other strides", agree=agreed)
def stored_with_other_strides(clue: Clue) -> Seen:
    """Every right number is where the strides of an input of the same shape would have it."""
    got = clue.check.got
    if got.ndim < 2 or not got.is_contiguous():
        return None
    told, tensors = False, []
    for name, value in clue.inputs.items():
        if not isinstance(value, torch.Tensor) or value.shape != got.shape or value.is_contiguous():
            continue
        places = _places(value)
        if int(places.max()) >= got.numel() or len(places.unique()) < got.numel():
            continue  # beyond the end, or one place for several: that ends otherwise
        told = True
        if near(clue.got.flatten()[places], clue.expected.flatten(), clue.slack):
            tensors.append(name)
    if not told:
        return SILENT
    return {"output": clue.name, "tensors": tuple(tensors)} if tensors else None


def _places(view: torch.Tensor) -> torch.Tensor:
    """Where the view's strides put each of its elements, counted from the first."""
    places = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(view.shape, view.stride(), strict=True):
        places = places.unsqueeze(-1) + stride * torch.arange(size)
    return places.flatten()
