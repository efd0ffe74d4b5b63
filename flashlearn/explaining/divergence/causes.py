"""An earlier value that is right only up to something, where that is all that is wrong.

A tile may hold the right numbers and padding that counts, or be transposed, or a multiple, or another step
than the one that is needed: then the statement that reads it departs first, and is not to blame. Each is
tried: the launcher runs again with that value put right where it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashlearn.explaining.divergence.goals import Goal, Instead, Readings, cleaned, differs, put_right
from flashlearn.explaining.divergence.matching import Match, Reading, oriented, value_of
from flashlearn.explaining.divergence.operands import Operand, lost_axes, needed_for, roles
from flashlearn.explaining.divergence.replay import Replay
from flashlearn.explaining.divergence.windows import is_tile
from flashlearn.interpreter.observers.assigned_values import Event
from flashlearn.quantity import Quantities

MOST_TRIED = 3
"""Quantities that are tried in place of an operand that is another one."""

MOST_BACK = 4
"""Statements through which a factor is followed to where it came in."""


@dataclass(frozen=True)
class Cause:
    """A value that an earlier statement made, by `kind`: "padding", "turned", "multiple" or "other".

    `operand` is what it is, `goal` what it should be (None for padding), `axes` those along which padding
    counts.
    """

    kind: str
    operand: Operand
    goal: Goal | None = None
    axes: frozenset[str] = frozenset()

    @property
    def reading(self) -> Reading:
        """Where it was made."""
        return self.operand.reading


class Unknown(Exception):
    """The work is spent before it is known whether an earlier value is the cause."""


@dataclass(frozen=True)
class Trials:
    """The statement that departs, and runs with earlier values put right. Raises Unknown."""

    replay: Replay
    quantities: Quantities
    instead: Instead
    readings: Readings

    def cause(self, reading: Reading, goal: Goal, operands: tuple[Reading, ...]) -> Cause | None:
        """The earlier value that is all that is wrong, if there is one."""
        padded = self._padded(reading, goal, operands)
        if padded is not None:
            return padded
        for operand in roles(reading, goal, operands, self.quantities):
            for role, match, meant in self._meant(operand, reading, goal, operands):
                if self._repairs(put_right(operand.reading.event.site, meant, self.readings)):
                    cause = Cause(role, Operand(operand.reading, role, match), meant)
                    return self._traced(cause) if role == "multiple" else cause
        return None

    def multiple(self, reading: Reading) -> Cause | None:
        """A value that is a multiple of a quantity, if with the quantity itself all outputs are right."""
        match = reading.firm[0]
        meant = Goal(match.quantity, 1.0, match.turned)
        if not self._repairs(put_right(reading.event.site, meant, self.readings)):
            return None
        return self._traced(Cause("multiple", Operand(reading, "multiple", match), meant))

    def _repairs(self, more: Instead) -> bool:
        tried = self.replay.record({**self.instead, **more}) if more else (None, False)
        if tried is None:
            raise Unknown
        return tried[1]

    def _padded(self, reading: Reading, goal: Goal, operands: tuple[Reading, ...]) -> Cause | None:
        """The value whose padding counts: all outputs are right without it, or at least this statement is."""
        lost = lost_axes(reading, goal)
        for axes in [*({axis} for axis in lost), *([set(lost)] if len(lost) > 1 else [])]:
            for operand in operands:
                source = self._source_of_padding(operand, axes, reading, goal)
                if source is not None:
                    return Cause(
                        "padding", Operand(source, "padded", source.matches[0]), None, frozenset(axes)
                    )
        return None

    def _source_of_padding(
        self, operand: Reading, axes: set[str], reading: Reading, goal: Goal
    ) -> Reading | None:
        """Where padding comes from: the mask that should hide it, else the scores or the load."""
        whole, part = [], []
        for source in self._sources(operand, axes):
            tried = self.replay.record({**self.instead, **cleaned(source.event.site, axes, self.readings)})
            if tried is None:
                raise Unknown
            if tried[1]:
                whole.append(source)
            elif self._is_right_in(tried[0], reading, goal):
                part.append(source)
        found = whole or part
        return next(
            (source for source in found if "where(" in source.event.text), found[-1] if found else None
        )

    def _is_right_in(self, events: Sequence[Event], reading: Reading, goal: Goal) -> bool:
        """True if the statement makes its goal in another run."""
        number = reading.event.number
        event = events[number] if number < len(events) else None
        if event is None or event.site != reading.event.site:
            return False
        return not differs(replace(reading, event=event), goal)

    def _sources(self, reading: Reading, lost: set[str]) -> list[Reading]:
        """An operand whose padding would count, and before it those that put it there."""
        found, at = [], reading
        while at is not None and at.unclean & lost:
            tiles = [self.readings[n] for n in at.event.operands if is_tile(self.readings[n].event.array)]
            copied = next((t for t in tiles if np.array_equal(t.event.array, at.event.array)), None)
            if copied is not None and copied.event.site.name and "where(" not in at.event.text:
                at = copied
                continue
            scores = any(
                m.quantity.kind == "input" or (m.quantity.name == "S" and m.quantity.kind != "unscaled")
                for m in at.matches
            )
            if at.event.site.name and (at is reading or scores or not tiles or "where(" in at.event.text):
                found.append(at)
            if scores:
                break
            at = next((r for r in tiles if r.unclean & lost), None)
        return found

    def _meant(
        self, operand: Operand, reading: Reading, goal: Goal, operands: tuple[Reading, ...]
    ) -> Iterator[tuple[str, Match, Goal]]:
        """What an operand that is not right may have been meant to be, and what it is."""
        match, role = operand.match, operand.role
        if role == "turned":
            yield role, match, Goal(match.quantity, match.factor, goal.turned)
        elif role == "multiple":
            yield role, match, Goal(match.quantity, 1.0, match.turned)
        elif role == "right":
            scaled = [m for m in operand.reading.firm if m.factor != 1.0 and m.quantity.kind != "output"]
            yield from (("multiple", m, Goal(m.quantity, 1.0, m.turned)) for m in scaled[:1])
        elif role == "other" and match.quantity.kind == "unmasked" and goal.quantity.needs:
            masked = self._of_shape(operand.reading, {match.quantity.name}, match.turned)
            yield from ((role, match, g) for g in masked)
        elif role == "other" and is_tile(operand.reading.event.array) and operand.reading.firm:
            present = {m.quantity.name for o in operands for m in o.firm}
            wanted = needed_for(reading, goal, operands, self.quantities) - present
            yield from ((role, match, g) for g in self._of_shape(operand.reading, wanted, match.turned))

    def _of_shape(self, reading: Reading, names: set[str], turned: bool) -> list[Goal]:
        """Quantities of these names that fit a value's shape and orientation."""
        found = {}
        for quantity in self.quantities.known:
            if quantity.name not in names or quantity.kind not in ("step", "input", "tile"):
                continue
            if reading.window is None or value_of(quantity, reading.window) is None:
                continue
            fitting = oriented(reading.event.array, quantity.axes, reading.window, reading.blocks)
            if any(flipped == turned for _, _, flipped in fitting):
                found.setdefault(quantity.name, Goal(quantity, 1.0, turned))
        return list(found.values())[:MOST_TRIED]

    def _traced(self, cause: Cause) -> Cause:
        """Where a factor came in: the first statement that passes it on, if all is right without it there."""
        for _ in range(MOST_BACK):
            reading, factor = cause.reading, cause.operand.match.factor
            operands = tuple(self.readings[n] for n in reading.event.operands)
            before = [
                (o, m)
                for o in operands
                for m in o.firm
                if np.isclose(m.factor, factor) and o.event.site.name and o.event.site != reading.event.site
            ]
            for operand, match in before:
                meant = Goal(match.quantity, 1.0, match.turned)
                if self._repairs(put_right(operand.event.site, meant, self.readings)):
                    cause = Cause("multiple", Operand(operand, "multiple", match), meant)
                    break
            else:
                break
        return cause
