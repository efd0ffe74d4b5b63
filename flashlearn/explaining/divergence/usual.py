"""What often comes out in place of a right value, and the numbers that it would be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from flashlearn.explaining.divergence.goals import compared
from flashlearn.explaining.divergence.matching import oriented, value_of
from flashlearn.explaining.divergence.search import Departure
from flashlearn.explaining.findings.first_divergence import Instead
from flashlearn.quantity import Quantities, Quantity

CLOSE = 1e-4
"""Relative: a description of what came out instead must fit as well as rounding lets it."""

SHARES = {"acc": ("P V", "A B"), "l": ("sum of a tile",), "m": ("max of a tile",)}
SUMS = ("l", "sum of a tile")

Usual = tuple[Instead, np.ndarray | None]


def fits(got: np.ndarray, other: np.ndarray) -> bool:
    """True if two arrays agree wherever the second has a number."""
    cared = np.isfinite(other)
    if not cared.any() or not np.isfinite(got[cared]).all():
        return False
    return bool(np.abs(got[cared] - other[cared]).max() <= CLOSE * np.abs(other[cared]).max())


def usual(found: Departure, quantities: Quantities) -> Iterator[Usual]:
    """Each with what it would be where the statement is."""
    reading, goal = found.reading, found.goal
    name = goal.quantity.name
    known = {q.name: q for q in reversed(quantities.known) if q.kind != "unmasked"}
    of = {n: value_of(q, reading.window) for n, q in known.items() if q.axes == goal.quantity.axes}
    if name == "dS" and of.get("P") is not None and of.get("dP") is not None:
        yield Instead("without delta"), goal.factor * of["P"] * of["dP"]
    for share in (*SHARES.get(name, ()), f"share of {name}"):
        if of.get(share) is not None:
            yield Instead("share"), goal.factor * of[share]
    yield from _bare_exponentials(found, known)
    yield from _other_units(found, known)
    brought, right = of.get(f"{name} brought to the new maximum"), of.get(name)
    old = next((o for o in found.operands if o.match is not None and o.match.quantity.name == name), None)
    if brought is not None and old is not None:
        previous, _ = compared(old.reading, goal)
        if previous is not None and previous.shape == right.shape:
            yield Instead("not rescaled", name=old.reading.event.site.name), right - brought + previous


def _bare_exponentials(found: Departure, known: dict[str, Quantity]) -> Iterator[Usual]:
    """exp(S), from which no maximum was subtracted, and its sums."""
    window, goal = found.reading.window, found.goal
    scores = known.get("S", known.get("x", known.get("s")))
    if scores is None or goal.factor != 1.0 or "−" not in goal.quantity.words:
        return
    if goal.quantity.name == "P" and goal.quantity.words == "exp(S − m)":
        s = value_of(scores, window)
        if s is not None:
            with np.errstate(over="ignore"):
                yield Instead("bare", name="exp(S)"), np.exp(s)
        right = value_of(goal.quantity, window)
        for words, power in (("2^(S − m)", np.log(2)), ("exp((S − m) log2 e)", 1 / np.log(2))):
            yield Instead("power", name=words), right**power
    if goal.quantity.name in SUMS and "k" in window.seen:
        counted = window.seen["k"].copy()
        whole = replace(window, at={**window.at, "k": slice(0, len(counted))})
        s = value_of(scores, whole)
        if goal.quantity.name == "sum of a tile":
            counted[:] = False
            counted[window.at["k"]] = True
        if s is not None:
            with np.errstate(over="ignore"):
                yield Instead("bare", name="the sum of exp(S)"), np.exp(s[:, counted]).sum(-1)


def _other_units(found: Departure, known: dict[str, Quantity]) -> Iterator[Usual]:
    """exp(S − something that was read), or its sum over the tile: right in the unit of another maximum."""
    window, goal = found.reading.window, found.goal
    scores = known.get("S", known.get("x", known.get("s")))
    own = goal.quantity.words == "exp(S − m)" or goal.quantity.name == "sum of a tile"
    s = value_of(scores, window) if scores is not None and own and goal.factor == 1.0 else None
    if s is None or not np.isfinite(s).any():
        return
    words = "exp(S − `{}`)" if goal.quantity.axes == scores.axes else "the tile's sum of exp(S − `{}`)"
    for operand in found.operands:
        unit, name = operand.reading.event.array.astype(np.float64), operand.reading.event.site.name
        lanes = unit.reshape(len(s), -1)[:, : s.shape[1]] if unit.size and not unit.size % len(s) else unit
        if name == found.reading.event.site.name or s.ndim != 2 or lanes.shape not in (s.shape, (len(s), 1)):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            made = np.exp(s - np.where(np.isfinite(lanes), lanes, 0.0))
        made = made if goal.quantity.axes == scores.axes else made.sum(-1)
        yield Instead("another unit", name=words.format(name)), made


def loaded_from(found: Departure, quantities: Quantities) -> str:
    """What a load brought in place of its goal, if that is one other place of an input; else ""."""
    reading, goal = found.reading, found.goal
    window, axis = reading.window, goal.quantity.axes[0]
    here = window.at[axis]
    places = []
    for quantity in quantities.known:
        if quantity.kind != "input" or quantity.whole is None or quantity.axes != goal.quantity.axes:
            continue
        views = oriented(reading.event.array, quantity.axes, window, reading.blocks)
        for view, _, _ in views:
            places += [(quantity, *place) for place in _places(view.astype(np.float64), quantity.whole)]
    if len(places) != 1:
        return ""
    quantity, head, start = places[0]
    rows = "" if start == here.start else f"rows {start} to {start + here.stop - here.start - 1} of "
    of_head = "" if head == window.head else f" of head {head}, where head {window.head} belongs"
    if not rows and not of_head and quantity.name == goal.quantity.name:
        return ""
    return f"{rows}{quantity.words}{of_head}"


def _places(tile: np.ndarray, whole: np.ndarray) -> list[tuple[int, int]]:
    """Heads and first rows at which an input has these numbers, of which there must be several."""
    if tile.size < 4 or tile.shape[1:] != whole.shape[2:] or len(tile) > whole.shape[1]:
        return []
    firsts = np.abs(whole - tile[0]).reshape(*whole.shape[:2], -1).max(-1) <= CLOSE * np.abs(tile[0]).max()
    return [
        (int(head), int(start))
        for head, start in np.argwhere(firsts)
        if start + len(tile) <= whole.shape[1] and fits(tile, whole[head, start : start + len(tile)])
    ]
