"""An access that left its tensor, and what is found to be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.shadow import Region
from flashlearn.interpreter.views import View


@dataclass(frozen=True)
class OutsideAccess:
    """An access that left its tensor: the addresses and lanes of the whole tile, and who made it.

    `first` is the first lane outside, as its place in the tile; `others` are further tensors of the launch.
    """

    addresses: np.ndarray
    lanes: np.ndarray
    region: Region
    view: View
    program: Program
    grid: Program
    kind: str
    masked: bool
    first: tuple[int, ...]
    others: tuple[View, ...] = ()


@dataclass(frozen=True)
class Cause:
    """What is wrong: its key, a sentence, and the index that the first lane outside has, if all is known."""

    key: str
    sentence: str
    index: tuple[int, ...] | None = None
