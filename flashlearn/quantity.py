"""The intermediate quantities of a kernel: plain data by which a tile's values are recognised.

A `Quantity` is a name and a function of a `Window`, since a sum so far depends on what has been visited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flashlearn.later import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Window:
    """A tile of one head: its place on each axis, and the part of each axis that its program has visited.

    `seen` counts the present tile, `before` does not.
    """

    head: int
    at: Mapping[str, slice]
    seen: Mapping[str, Array]
    before: Mapping[str, Array]


@dataclass(frozen=True)
class Quantity:
    """One quantity: `value(window)` over `axes`, as many entries as exist (no padding).

    `kind` is "input" (loaded; `whole` is all of it, by head), "step", "unscaled" (a step to which a factor
    has yet to come), "unmasked" (one to which the mask has), "tile" (one tile's share of a sum) or "output".
    `needs` are further axes whose place must be known. `factors` are multiples that are equally valid,
    `padding` is the value that adds nothing to a sum over padded entries.
    """

    name: str
    words: str
    axes: tuple[str, ...]
    value: Callable[[Window], Array]
    kind: str = "step"
    needs: tuple[str, ...] = ()
    factors: tuple[float, ...] = (1.0,)
    padding: float = 0.0
    whole: Array | None = None


@dataclass(frozen=True)
class Quantities:
    """All quantities of one draw of inputs, and the length of each axis: "q", "k", "d", "i".

    `made_of` names for each quantity those from which it is computed directly: it tells what a statement that
    reads these was meant to compute.
    """

    sizes: Mapping[str, int]
    known: tuple[Quantity, ...] = field(default=())
    made_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
