"""Where a NaN comes from: an observer that labels each NaN with the operation that made it.

A NaN has bits to spare, and arithmetic passes them on. When an operation makes a NaN out of numbers, the
observer writes the origin's number into those bits; the number is then read off the NaN that ends up in the
output, however far it travelled. Infinities carry nothing, so their origins are listed by program.

    tracker = NanTracker()
    with observing(seed=3, observers=(tracker,)):
        out = launcher(*inputs)
    origins = tracker.observation().of(out)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.shadow import REGION_BITS
from flashlearn.observation import Place

MAX_ORIGINS = 63
"""Origins that can be distinguished: six bits survive in every floating-point format."""

LAYOUT = {
    2: (np.uint16, 0x7E00, 3, 0x3F),
    4: (np.uint32, 0x7FC00000, 16, 0x3F),
    8: (np.uint64, 0x7FF8000000000000, 45, 0x3F),
}
"""For fp16, fp32 and fp64, by size: the bits of a NaN, and where six more bits have room."""


@dataclass(frozen=True)
class NonFiniteOrigin:
    """An operation that made a NaN (or an infinity) out of operands that were none.

    `kind` is one of "inf minus inf", "zero over zero", "inf over inf", "zero times inf", "outside the
    domain" (log or sqrt of a negative number), "masked load without other", "uninitialised memory";
    for infinities "overflow", "log of zero" and "division by zero". The `infinities` of "inf minus inf" are
    "−∞ − −∞", "+∞ − +∞" or "+∞ + −∞", and empty where the line had several of these, or it is not known.
    """

    number: int
    kind: str
    place: Place | None
    tensor: str = ""
    infinities: str = ""


@dataclass
class NonFiniteOrigins:
    """All origins of a run, each line and kind once; of the infinite ones the programs where it happened."""

    known: dict[tuple, NonFiniteOrigin] = field(default_factory=dict)
    infinite: dict[tuple, tuple[NonFiniteOrigin, set]] = field(default_factory=dict)

    def note(self, kind: str, place: Place | None, tensor: str = "", infinities: str = "") -> int:
        """The number of a NaN's origin; 0 when there are too many to distinguish."""
        key = (kind, place.line if place is not None else 0, tensor)
        if key not in self.known:
            if len(self.known) >= MAX_ORIGINS:
                return 0
            self.known[key] = NonFiniteOrigin(len(self.known) + 1, kind, place, tensor, infinities)
        elif self.known[key].infinities != infinities:
            self.known[key] = dataclasses.replace(self.known[key], infinities="")
        return self.known[key].number

    def note_infinite(self, kind: str, place: Place | None, program: Program) -> None:
        """Remember the origin of an infinity."""
        key = (kind, place.line if place is not None else 0)
        _, programs = self.infinite.setdefault(key, (NonFiniteOrigin(0, kind, place), set()))
        programs.add(program)

    def of(self, output: torch.Tensor) -> list[NonFiniteOrigin]:
        """The origins of the NaN in an output, the most frequent first."""
        values = output.detach().contiguous()
        if values.dtype not in (torch.float16, torch.float32, torch.float64):
            return []
        bits = values.view(-1).numpy()
        kind, _, shift, mask = LAYOUT[bits.dtype.itemsize]
        numbers = (bits.view(kind)[np.isnan(bits)] >> kind(shift)) & kind(mask)
        found, counts = np.unique(numbers, return_counts=True)
        by_number = {origin.number: origin for origin in self.known.values()}
        order = np.argsort(-counts)
        return [by_number[int(found[i])] for i in order if int(found[i]) in by_number]


@dataclass
class NanTracker(Observer):
    """Looks at every result for NaN and infinities that its operands did not hold."""

    origins: NonFiniteOrigins = field(default_factory=NonFiniteOrigins, init=False)

    def observation(self) -> NonFiniteOrigins:
        return self.origins

    def on_result(self, kind: str, operation: Any, operands: tuple, result: Any) -> None:
        out, data = result.data, tuple(operand.data for operand in operands)
        if kind == "binary":
            self._inspect(out, data, lambda: _binary_kind(operation, *data), operation=operation)
        elif kind == "unary":
            _inherit(out, data[0])  # NumPy's exp and log forget whose NaN it was
            infinite = "log of zero" if operation in (np.log, np.log2) else "overflow"
            self._inspect(out, data, lambda: "outside the domain", infinite)
        elif kind == "fma":
            self._inspect(out, data, lambda: "inf minus inf")
        elif kind == "cast":
            self._inspect(out, data, lambda: "outside the domain")
        elif _floats(out) and not (np.isnan(data[0]).any() or np.isnan(data[1]).any()):
            self._inspect(out, data[2:], lambda: _product_kind(data[0], data[1]))

    def after_load(self, access: Access, values: np.ndarray) -> None:
        if not _floats(values):
            return
        hidden = ~access.lanes if access.partial else None
        if hidden is not None and not access.has_other:
            self._mark(values, hidden & np.isnan(values), "masked load without other", self._tensor(access))
        fresh = np.isnan(values) & (_payload(values) == 0)
        if hidden is not None:
            fresh &= ~hidden
        if fresh.any():
            self._mark(values, fresh, "uninitialised memory", self._tensor(access))

    def _inspect(
        self,
        out: np.ndarray,
        operands: tuple,
        kind: Callable[[], str],
        infinite: str = "overflow",
        operation: Any = None,
    ) -> None:
        if not _floats(out) or not isinstance(out, np.ndarray):
            return
        finite = np.isfinite(out)
        if finite.all():
            return
        new_nan = np.isnan(out)
        new_inf = ~finite & ~new_nan
        for operand in operands:
            if _floats(operand):
                new_nan = new_nan & ~np.isnan(operand)
                new_inf = new_inf & np.isfinite(operand)
        if new_nan.any():
            new_nan = np.broadcast_to(new_nan, out.shape)
            self._mark(out, new_nan, kind(), "", _infinities(operation, operands, new_nan))
        if new_inf.any():
            reason = "division by zero" if _divides_by_zero(operands, new_inf) else infinite
            self.origins.note_infinite(reason, self.space.place(), self.space.program)

    def _mark(
        self, data: np.ndarray, where: np.ndarray, kind: str, tensor: str, infinities: str = ""
    ) -> None:
        number = self.origins.note(kind, self.space.place(), tensor, infinities)
        if number and data.dtype.itemsize in LAYOUT and data.dtype.kind == "f" and data.flags.writeable:
            whole, nan, shift, _ = LAYOUT[data.dtype.itemsize]
            if data.flags.c_contiguous:
                data.view(whole)[where] = whole(nan | (number << shift))

    def _tensor(self, access: Access) -> str:
        if access.region is not None:
            return access.region.views_of(access.index, access.itemsize)[0].name
        flat = access.addresses.ravel()
        region = self.space.regions.get(int(flat[0]) >> REGION_BITS) if flat.size else None
        return region.views[0].name if region is not None and region.views else ""


def _inherit(out: np.ndarray, of: np.ndarray) -> None:
    """Give a NaN that came from a NaN its bits back."""
    if _floats(out) and out.dtype == of.dtype and out.shape == of.shape:
        same = np.isnan(out) & np.isnan(of)
        if same.any():
            out[same] = of[same]


def _floats(data: object) -> bool:
    return isinstance(data, np.ndarray) and data.dtype.kind == "f" and data.size > 0


def _payload(data: np.ndarray) -> np.ndarray:
    layout = LAYOUT.get(data.dtype.itemsize)
    if layout is None or not data.flags.c_contiguous:
        return np.zeros(data.shape, np.uint8)
    kind, _, shift, mask = layout
    return (data.view(kind) >> kind(shift)) & kind(mask)


def _binary_kind(op, left: np.ndarray, right: np.ndarray) -> str:
    infinite = bool(np.isinf(left).any()), bool(np.isinf(right).any())
    if op in (np.divide, np.true_divide):
        return "inf over inf" if all(infinite) else "zero over zero"
    if op is np.multiply:
        return "zero times inf"
    return "inf minus inf" if op in (np.subtract, np.add) else "outside the domain"


def _infinities(op: Any, operands: tuple, where: np.ndarray) -> str:
    """Which infinities a sum or a difference that is NaN was made of, if they are the same everywhere."""
    if op is not np.subtract:
        return "+∞ + −∞" if op is np.add else ""
    left = np.broadcast_to(operands[0], where.shape)[where]
    if (left > 0).all():
        return "+∞ − +∞"
    return "−∞ − −∞" if (left < 0).all() else ""


def _product_kind(left: np.ndarray, right: np.ndarray) -> str:
    for one, other in ((left, right), (right, left)):
        if np.isinf(one).any() and (other == 0).any():
            return "zero times inf"
    return "inf minus inf"


def _divides_by_zero(operands: tuple, where: np.ndarray) -> bool:
    return len(operands) == 2 and bool((np.broadcast_to(operands[1], where.shape)[where] == 0).all())


RECORDS = (NanTracker, NonFiniteOrigins, NonFiniteOrigin)
