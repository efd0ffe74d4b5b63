"""The facts of a departure: where everything still agreed, and what came out instead of what."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from flashlearn.explaining.divergence.causes import Cause
from flashlearn.explaining.divergence.clamped import always_true
from flashlearn.explaining.divergence.factors import factor_words, times
from flashlearn.explaining.divergence.goals import compared
from flashlearn.explaining.divergence.matching import HIDDEN, Reading
from flashlearn.explaining.divergence.operands import Operand, elsewhere
from flashlearn.explaining.divergence.replay import Replay
from flashlearn.explaining.divergence.search import Departure
from flashlearn.explaining.divergence.usual import CLOSE, fits, loaded_from, usual
from flashlearn.explaining.findings.first_divergence import FirstDivergence, Instead
from flashlearn.explaining.findings.right_up_to import PaddingCounts, RightUpTo
from flashlearn.outcome import Finding, FindingKind
from flashlearn.quantity import Quantities, Quantity

AXES = ("q", "i", "k")


def finding_of(found: Departure, quantities: Quantities, replay: Replay) -> Finding:
    """The departure, at the line of the statement, or of the earlier value that is all that is wrong."""
    alpha, given = float(replay.inputs.get("alpha", 1.0)), tuple(replay.inputs)
    facts = Facts(found, quantities, replay.outcome.case.name, alpha, given)
    reading = found.reading if found.cause is None else found.cause.reading
    kind = facts.kind()
    if found.cause is not None and facts.is_carried(found.cause.operand.match.quantity):
        reading = found.reading  # the next step may need what is carried as it is: its reader is in question
    return Finding(kind, reading.event.place)


def tile_of(reading: Reading) -> tuple[int, ...]:
    """The tile's number along the queries and along the keys, of those axes on which its place is known."""
    at, blocks = reading.window.at, reading.blocks
    return tuple(at[axis].start // (blocks[axis] or 1) for axis in _axes(reading))


def _axes(reading: Reading) -> list[str]:
    return [axis for axis in AXES if axis in reading.window.at]


@dataclass(frozen=True)
class Facts:
    """What is said of a departure in one case, whose scores are scaled by alpha; `given` are its inputs."""

    found: Departure
    quantities: Quantities
    case: str
    alpha: float
    given: tuple[str, ...] = ()

    def kind(self) -> FindingKind:
        """The finding's kind."""
        cause = self.found.cause
        if cause is None:
            return self.divergence()
        return self.padding(cause) if cause.kind == "padding" else self.right_up_to(cause)

    def divergence(self) -> FirstDivergence:
        """The last tile in which all was right, the statement, what it should make, and what it made."""
        found, reading = self.found, self.found.reading
        before, instead = _before(found), self._instead()
        if before is not None and before >= tile_of(reading):
            before = None  # another head's, or another program's: that everything agrees there says nothing
        multiple = instead is not None and instead.kind == "multiple"
        goal = found.goal
        bare = instead is not None and instead.kind == "bare"
        zeros = tuple((o.reading.event.site.name, "0") for o in found.operands if bare and _is_zero(o))
        others = (self._what(o, multiple) for o in found.operands if not _is_zero(o))
        others = tuple(what for what in others if what is not None)
        return FirstDivergence(
            variable=reading.event.site.name,
            line=reading.event.site.line,
            stored=_stored(reading),
            case=self.case,
            tile=tile_of(reading),
            before=before,
            quantity=goal.quantity.words,
            times=factor_words(goal.factor, self.alpha) if goal.factor != 1.0 else "",
            rows=_rows(reading, goal.quantity),
            agrees=self._agrees(multiple),
            besides=(*zeros, *others),
            instead=instead,
            loads=self._loads(),
            side=self._side(reading),
        )

    def _side(self, reading: Reading) -> str:
        """What the tile is a block of, if its place is known along one axis alone."""
        known = _axes(reading)
        sides = ("queries", "keys") if "d" in self.quantities.sizes else ("rows", "columns")
        return sides[known[0] == "k"] if len(known) == 1 else ""

    def _loads(self) -> str:
        """For a line that loads a quantity: "given" if the exercise gives it, "made" if a kernel does."""
        reading, quantity = self.found.reading, self.found.goal.quantity
        loads = quantity.kind == "input" and "load" in reading.event.text
        return ("given" if quantity.name in self.given else "made") if loads else ""

    def padding(self, cause: Cause) -> PaddingCounts:
        """The name whose padding counts, where it was made, and the statement in whose sum it counts."""
        source, counted = cause.reading.event.site, self.found.reading.event.site
        pairs = "d" in self.quantities.sizes
        beyond = tuple(
            {
                "q": "query" if pairs else "row",
                "k": "key" if pairs else "column",
                "d": "component of a row",
            }.get(axis, "inner index")
            for axis in sorted(cause.axes, reverse=True)
        )
        tile = tile_of(self.found.reading)
        always = always_true(cause.reading.event)
        made = source.name, source.line, beyond
        side = self._side(self.found.reading)
        return PaddingCounts(*made, self.case, tile, counted.name, counted.line, side, always)

    def right_up_to(self, cause: Cause) -> RightUpTo:
        """What an earlier statement made, and what is needed where it is read."""
        made, read = cause.reading.event.site, self.found.reading.event.site
        match, goal = cause.operand.match, cause.goal
        is_, needed = (times(x.factor, x.quantity, self.alpha) for x in (match, goal))
        is_ += " without the mask" * (match.quantity.kind == "unmasked")
        others = tuple(
            o.reading.event.site.name
            for o in self.found.operands
            if o.role == "right" and o.match.quantity.axes == goal.quantity.axes
        )
        instead = self._instead() if cause.kind == "multiple" else None
        multiple = instead is not None and instead.kind == "multiple"
        return RightUpTo(
            variable=made.name,
            line=made.line,
            how=cause.kind,
            is_=is_,
            needed=needed,
            others=others,
            case=self.case,
            user=read.name,
            user_line=read.line,
            indirectly=made.name not in read.reads
            or _stored(self.found.reading),  # a later kernel may read it
            made=f"{instead.factor} times {self.found.goal.quantity.words}" if multiple else "",
        )

    def _agrees(self, multiple: bool) -> tuple[str, ...]:
        """Names that the statement read and that are right, within a step without those that it carries on.

        A maximum or a sum so far that is right after this step may be what is wrong here: its old value may
        be needed. Where the statement makes a `multiple` of its goal, a name with the goal itself, up to a
        factor, is none of these.
        """
        goal, made = self.found.goal.quantity, self.found.reading.event.site.name
        own = (goal.name, f"running {goal.words}") if multiple else ()
        right = (
            o
            for o in self.found.operands
            if o.role == "right" and o.match.quantity.name not in own and not _scaled(o) and not _is_zero(o)
        )
        names = [
            o.reading.event.site.name
            for o in right
            if not (goal.needs and self.is_carried(o.match.quantity))
            and (o.reading.event.site.name != made or o.match.quantity.name != goal.name)
        ]
        return tuple(dict.fromkeys(names))

    def is_carried(self, quantity: Quantity) -> bool:
        """Whether it is known with and without the present step: one step hands it to the next."""
        return sum(one.name == quantity.name for one in self.quantities.known) > 1 and bool(quantity.needs)

    def _what(self, operand: Operand, multiple: bool) -> tuple[str, str] | None:
        """An operand that is not what the statement needs, and what it is."""
        name, match, goal = operand.reading.event.site.name, operand.match, self.found.goal
        if multiple and operand.role == "right" and match.quantity.name == goal.quantity.name:
            if name == self.found.reading.event.site.name and goal.quantity.needs:
                return None  # a sum so far that goes on
            return (name, f"{goal.quantity.words} already") if match.quantity is goal.quantity else None
        if operand.role == "right" and _scaled(operand):
            return name, times(match.factor, match.quantity, self.alpha)
        if operand.role == "stale":
            axis = elsewhere(operand.reading, self.found.reading, goal)
            place = operand.reading.window.at[axis]
            what = {"q": "queries", "k": "keys"}.get(axis, "indices")
            return name, f"still that of {what} {place.start} to {place.stop - 1}"
        if operand.role == "new":
            return name, "the new maximum already"
        if match is None or not match.sure:
            return None
        if operand.role == "turned":
            return name, f"{times(match.factor, match.quantity, self.alpha)} transposed"
        known = goal.quantity.name in self.quantities.made_of
        if not known or operand.role not in ("multiple", "other") or match.quantity.name == "visible":
            return None
        what = times(match.factor, match.quantity, self.alpha)
        if (
            operand.role == "multiple"
            and what.startswith("log2 e")
            and "exp2" in self.found.reading.event.text
        ):
            return None  # as an exponent of 2 needs it
        if operand.role == "multiple" and _is_multiplied(name, self.found.reading.event.text):
            return None  # the statement may convert it
        if match.quantity.kind == "unmasked":
            made = self.found.reading.event.site.name
            return None if name == made else (name, f"{what} without the mask")  # the mask comes here
        return (
            None
            if name.lower().startswith(what.lower()) and self._within(match.quantity.name)
            else (name, what)
        )

    def _within(self, name: str) -> bool:
        """True for an ingredient of what a function that is called here should make of its arguments."""
        made_of, goal = self.quantities.made_of, self.found.goal.quantity.name
        if any(o.role == "right" and o.match.quantity.name != goal for o in self.found.operands):
            return False
        reached, waiting = {goal}, [goal]
        while waiting:
            new = set(made_of.get(waiting.pop(), ())) - reached
            reached |= new
            waiting += new
        return name in reached

    def _instead(self) -> Instead | None:
        """What came out instead, where that is one of the usual things and fits by value."""
        found, reading = self.found, self.found.reading
        got, right = compared(reading, found.goal)
        if got is None:
            return None
        if right.dtype == bool:
            wrong = tuple(np.argwhere(got != right)[0])
            return Instead("key shown" if got[wrong] else "key hidden", pair=self._pair(wrong))
        kinds = {match.quantity.kind for match in reading.matches}
        if "unscaled" in kinds:
            return Instead("unscaled")
        if "unmasked" in kinds:
            return self._unmasked(got, right)
        if np.isnan(got[np.isfinite(right)]).any():
            return Instead("NaN")
        if self._loads() and (place := loaded_from(self.found, self.quantities)):
            return Instead("place", name=place)
        if found.goal.quantity.name == "S" and (instead := self._other_keys(got, right)) is not None:
            return instead
        right = right * found.goal.factor if found.goal.factor != 1.0 else right
        if found.goal.quantity.axes == ("q", "k") and (instead := self._hidden(got, right)) is not None:
            return instead
        for instead, other in usual(self.found, self.quantities):
            if other is not None and other.shape == got.shape and fits(got, other):
                return instead
        ratio = _ratio(got, right)
        if ratio is None:
            return None
        return Instead("multiple", ratio=ratio * found.goal.factor, factor=self._factor(ratio))

    def _factor(self, ratio: float) -> str:
        return factor_words(ratio * self.found.goal.factor, self.alpha)

    def _pair(self, at: tuple[int, ...]) -> tuple[int, int]:
        """The query and the key of an entry of a tile, in the orientation of the quantities."""
        query, key = (int(n + self.found.reading.window.at[a].start) for n, a in zip(at, "qk", strict=True))
        return query, key

    def _unmasked(self, got: np.ndarray, right: np.ndarray) -> Instead:
        """The first hidden key that has a number like any other."""
        hidden = right == -np.inf if (right == -np.inf).any() else right == 0
        shown = np.argwhere(hidden & (got > HIDDEN) & (got != right))
        return Instead("unmasked", pair=self._pair(tuple(shown[0]))) if len(shown) else Instead("")

    def _other_keys(self, got: np.ndarray, right: np.ndarray) -> Instead | None:
        """A key that scores hide and should not, or show; None if they differ in their numbers too."""
        hidden, wanted = got <= HIDDEN, right == -np.inf
        both = ~hidden & ~wanted
        if (
            np.array_equal(hidden, wanted)
            or not both.any()
            or not fits(got[both], self.found.goal.factor * right[both])
        ):
            return None
        at = tuple(np.argwhere(hidden != wanted)[0])
        return Instead("key hidden" if hidden[at] else "key shown", pair=self._pair(at))

    def _hidden(self, got: np.ndarray, right: np.ndarray) -> Instead | None:
        """A weight that is 0 and should not be, where that is all that is wrong, and queries see keys."""
        if "d" not in self.quantities.sizes:
            return None
        finite = np.isfinite(right)
        wrong = finite & (np.abs(got - right) > CLOSE * np.abs(right[finite]).max(initial=0.0))
        if self.found.goal.quantity.words.startswith("exp") and wrong.any() and not got[wrong].any():
            return Instead("key hidden", pair=self._pair(tuple(np.argwhere(wrong)[0])))
        return None


def _before(found: Departure) -> tuple[int, ...] | None:
    """The last tile before this one, if all that was known until then was right."""
    own, last = found.reading, None
    for reading in found.readings.values():
        if reading.event.number >= own.event.number:
            break
        if reading.window is None or reading.event.launch != own.event.launch:
            continue
        if not reading.right:
            return None
        tile = tile_of(reading)
        if _axes(reading) == _axes(own) and tile != tile_of(own) and reading.matches:
            last = tile
    return last


def _is_multiplied(name: str, text: str) -> bool:
    """Whether a statement multiplies or divides a name, and not an element of it or a call."""
    return bool(re.search(rf"\b{re.escape(name)}\b\s*[*/](?!\*)|[*/]\s*{re.escape(name)}\b(?![\[.(])", text))


def _rows(reading: Reading, quantity: Quantity) -> tuple[int, int] | None:
    """The first and the last row that a load of an input should have brought."""
    if quantity.kind == "input" and "d" in quantity.axes:
        rows = reading.window.at[quantity.axes[0]]
        return rows.start, rows.stop - 1
    return None


def _ratio(got: np.ndarray, right: np.ndarray) -> float | None:
    """The one number by which all entries are too large, if there is one."""
    cared = np.isfinite(right) & np.isfinite(got)
    if not np.array_equal(got[~cared], right[~cared], equal_nan=True):
        return None
    got, right = got[cared], right[cared]
    if right.size < 3 or not np.abs(right).max() > 0:
        return None
    ratio = float(got @ right / (right @ right))
    if math.isclose(ratio, 1.0, abs_tol=CLOSE):
        return None
    fits = abs(ratio) > CLOSE and np.abs(got - ratio * right).max() <= CLOSE * np.abs(ratio * right).max()
    return ratio if fits else None


def _stored(reading: Reading) -> bool:
    return reading.event.site.kind in ("store", "atomic")


def _is_zero(operand: Operand) -> bool:
    """Whether it is 0 in every lane: what that is right as cannot be told."""
    return not operand.reading.event.array.any()


def _scaled(operand: Operand) -> bool:
    """Whether what an operand holds is a quantity times a factor: perhaps right, but not the quantity."""
    return operand.match is not None and not math.isclose(operand.match.factor, 1.0, rel_tol=1e-4)
