"""Mistakes from a formula with faults by name: the fields that a Mistake wants.

>>> Mistake("…", "…", **with_faults(column_sums, "mean"))
>>> forward = faulty_formula(scan, causal=True)
>>> Mistake("…", "…", **forward("top-left", also=("top-left mask", ("top-left", "no guards"))))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from flashlearn.exercise import Tiles

Faults = frozenset[str]
NONE: Faults = frozenset()
Tile = tuple[int, int]
Also = tuple[str | tuple[str, ...], ...]
"""Faults, or sets of them, that make the same mistake in another way."""


def tiled(faults: Faults, one_side: bool = False) -> Callable[[Callable], Callable]:
    """Say of the decorated formula which of its faults depend on the tile, and whether one side matters."""

    def declare(formula: Callable) -> Callable:
        formula.tiles = Tiles(frozenset(faults), one_side)  # type: ignore[attr-defined]
        return formula

    return declare


class FaultyFormula(Protocol):
    """What makes mistakes of one formula's faults."""

    def __call__(self, *faults: str, also: Also = ()) -> dict[str, Any]:
        """`wrong` and `also` of a Mistake: the formula with all of `faults`, and with each of `also`."""


def faulty_formula(formula: Callable, **fixed: Any) -> FaultyFormula:
    """For the formula with its other keywords `fixed`."""

    def of(*faults: str, also: Also = ()) -> dict[str, Any]:
        sets = (faults, *((way,) if isinstance(way, str) else way for way in also))
        wrong, *others = (functools.partial(formula, **fixed, faults=frozenset(names)) for names in sets)
        return {"wrong": wrong, "also": tuple(others)}

    return of


def with_faults(formula: Callable, *faults: str, also: Also = ()) -> dict[str, Any]:
    """`wrong` and `also` of one Mistake."""
    return faulty_formula(formula)(*faults, also=also)
