"""The right numbers, stored where another tensor's strides put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, near
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class StoredWithOtherStrides(Rule):
    """The strides of `tensor` are used for `output`."""

    name = "stored with other strides"
    rank = 80
    conclusive = True

    output: str
    tensor: str
    called: tuple[str, ...] = ()

    @classmethod
    def look(cls, clue: Clue) -> tuple[str, ...] | object | None:
        """The inputs of the same shape whose strides would have put every right number where it is."""
        got = clue.check.got
        if got.ndim < 2 or not got.is_contiguous():
            return None
        can_tell, tensors = False, []
        for name, value in clue.inputs.items():
            if not isinstance(value, torch.Tensor) or value.shape != got.shape or value.is_contiguous():
                continue
            places = _places(value)
            if int(places.max()) >= got.numel() or len(places.unique()) < got.numel():
                continue  # beyond the end, or one place for several elements: that shows in other ways
            can_tell = True
            if near(clue.got.flatten()[places], clue.expected.flatten(), clue.slack):
                tensors.append(name)
        if not can_tell:
            return SILENT
        return tuple(tensors) or None

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[tuple[str, ...]]) -> StoredWithOtherStrides | None:
        """The tensor that has this layout in every case; of several the one whose gradient the output is."""
        common = set.intersection(*map(set, seen))
        if not common:
            return None
        output = clues[0].name
        tensor = output[1:] if output[1:] in common else min(common)
        own = f"strides of {tensor} used for {output}"
        return cls(output, tensor, (own,) if own in clues[0].exercise.explained.mistakes else ())

    def wording(self) -> Wording:
        """Whose strides the store uses."""
        return Wording(
            f"{self.output} holds the right numbers, each where the strides of {self.tensor} put it: the "
            f"store uses {self.tensor}'s strides.",
            f"{self.output} is a tensor of its own, allocated in the launcher: address it with its own "
            "strides.",
        )


def _places(view: torch.Tensor) -> torch.Tensor:
    """Where the view's strides put each of its elements, counted from the first."""
    places = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(view.shape, view.stride(), strict=True):
        places = places.unsqueeze(-1) + stride * torch.arange(size)
    return places.flatten()
