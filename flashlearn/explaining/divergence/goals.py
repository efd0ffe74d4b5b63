"""What a statement should make, how that compares with what it made, and its right values in their place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashlearn.explaining.divergence.matching import FAR, HIDDEN, Reading, oriented, value_of
from flashlearn.interpreter.observers.assigned_values import Site
from flashlearn.quantity import Quantity

Instead = dict[int, np.ndarray]
Readings = dict[int, Reading]


@dataclass(frozen=True)
class Goal:
    """What a statement should make: a multiple of a quantity, transposed or not."""

    quantity: Quantity
    factor: float
    turned: bool


def compared(reading: Reading, goal: Goal) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What came out, and the quantity without the factor, over the entries that exist."""
    quantity, turned = goal.quantity, goal.turned
    right = value_of(quantity, reading.window) if reading.window is not None else None
    if right is None:
        return None, None
    fitting = oriented(reading.event.array, quantity.axes, reading.window, reading.blocks)
    view = next((v for v, _, flipped in fitting if flipped == turned), None)
    if view is None:
        return None, None
    view = view.reshape(right.shape)
    return (view if right.dtype == bool else view.astype(np.float64)), right


def differs(reading: Reading, goal: Goal) -> bool:
    """True if what came out is not the goal: another number where one is expected, or another mask."""
    got, right = compared(reading, goal)
    if got is None or (right.dtype == bool) != (got.dtype == bool):
        return False
    if right.dtype == bool:
        return not np.array_equal(got, right)
    hidden, finite = right == -np.inf, np.isfinite(right)
    if (got[hidden] > HIDDEN).any() or not np.isfinite(got[finite]).all():
        return True
    wanted = goal.factor * right[finite]
    return bool(wanted.size) and bool(np.abs(got[finite] - wanted).max() > FAR * np.abs(wanted).max())


def put_right(site: Site, goal: Goal, readings: Readings) -> Instead:
    """The right value for every event of a site whose place is known; the padding stays the kernel's own."""
    instead = {}
    for reading in readings.values():
        if reading.event.site != site or reading.window is None:
            continue
        right = value_of(goal.quantity, reading.window)
        array = reading.event.array.astype(bool if right is not None and right.dtype == bool else np.float64)
        for view, _, turned in oriented(array, goal.quantity.axes, reading.window, reading.blocks):
            if right is None or turned != goal.turned:
                continue
            if right.dtype == bool:
                view[...] = right.reshape(view.shape)
            else:
                _fill(view, right.reshape(view.shape).astype(np.float64), goal.factor)
            instead[reading.event.number] = array
    return instead


def _fill(view: np.ndarray, right: np.ndarray, factor: float) -> None:
    """Put right numbers where any are expected; elsewhere the kernel's own stay, unless they are NaN or ∞."""
    with np.errstate(invalid="ignore"):
        wanted = right * factor if factor != 1.0 else right
    own = np.where(np.isnan(view) | (view == np.inf), 0.0, view)
    view[...] = np.where(np.isnan(wanted), own, wanted)


def cleaned(site: Site, lost: set[str], readings: Readings) -> Instead:
    """A site's own values, with padding that adds nothing to a sum along the axes `lost`."""
    instead = {}
    for reading in readings.values():
        if reading.event.site != site or not reading.unclean & lost:
            continue
        match = reading.matches[0]
        array = reading.event.array.astype(np.float64)
        tile = array.T if match.turned else array
        real = [axis for axis in match.quantity.axes if reading.blocks.get(axis) is not None]
        for position, axis in enumerate(real):
            if axis in lost:
                at = reading.window.at[axis]
                np.moveaxis(tile, position, 0)[at.stop - at.start :] = match.quantity.padding
        instead[reading.event.number] = array
    return instead
