"""Where a NaN is born: an observer that gives each birth a certificate.

A NaN has bits to spare, and arithmetic passes them on. When an operation makes a NaN out of numbers,
the observer writes the birth's number into those bits; the number is then read off the NaN that ends up
in the output, however far it travelled. Infinities carry nothing, so their births are listed by program.

    with observing(seed=3) as (session, watch):
        session.builder = NanBuilder
        out = launcher(*inputs)
    births = session.births.of(out)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.outcome import Place

MOST = 63
"""Births that can be told apart: six bits survive in every floating-point format."""

LAYOUT = {
    2: (np.uint16, 0x7E00, 3, 0x3F),
    4: (np.uint32, 0x7FC00000, 16, 0x3F),
    8: (np.uint64, 0x7FF8000000000000, 45, 0x3F),
}
"""For fp16, fp32 and fp64, by size: the bits of a NaN, and where six more bits have room."""


@dataclass(frozen=True)
class Birth:
    """An operation that made a NaN (or an infinity) out of numbers that were none.

    `kind` is one of "inf minus inf", "zero over zero", "inf over inf", "zero times inf", "outside the
    domain" (log or sqrt of a negative number), "masked load without other", "uninitialised memory";
    for infinities "overflow", "log of zero" and "division by zero".
    """

    number: int
    kind: str
    place: Place | None
    tensor: str = ""


@dataclass
class Births:
    """All births of a session, each line and kind once; `programs` are those in which it happened."""

    known: dict[tuple, Birth] = field(default_factory=dict)
    infinite: dict[tuple, tuple[Birth, set]] = field(default_factory=dict)

    def note(self, kind: str, place: Place | None, tensor: str = "") -> int:
        """The number of a NaN's birth; 0 when there are too many to tell apart."""
        key = (kind, place.line if place is not None else 0, tensor)
        if key not in self.known:
            if len(self.known) >= MOST:
                return 0
            self.known[key] = Birth(len(self.known) + 1, kind, place, tensor)
        return self.known[key].number

    def note_infinite(self, kind: str, place: Place | None, program: tuple[int, int, int]) -> None:
        """Remember the birth of an infinity."""
        key = (kind, place.line if place is not None else 0)
        _, programs = self.infinite.setdefault(key, (Birth(0, kind, place), set()))
        programs.add(program)

    def of(self, output: torch.Tensor) -> list[Birth]:
        """The births whose NaN are in an output, those with most descendants first."""
        values = output.detach().contiguous()
        if values.dtype not in (torch.float16, torch.float32, torch.float64):
            return []
        bits = values.view(-1).numpy()
        kind, _, shift, mask = LAYOUT[bits.dtype.itemsize]
        numbers = (bits.view(kind)[np.isnan(bits)] >> kind(shift)) & kind(mask)
        found, counts = np.unique(numbers, return_counts=True)
        by_number = {birth.number: birth for birth in self.known.values()}
        order = np.argsort(-counts)
        return [by_number[int(found[i])] for i in order if int(found[i]) in by_number]


class NanBuilder(ObservedBuilder):
    """Looks at every result for NaN and infinities that its operands did not hold."""

    def __init__(self, memory):
        super().__init__(memory)
        if not hasattr(memory, "births"):
            memory.births = Births()
        self.births: Births = memory.births

    def binary_op(self, lhs, rhs, op):
        with np.errstate(all="ignore"):
            out = super().binary_op(lhs, rhs, op)
        self._inspect(out.data, (lhs.data, rhs.data), lambda: _binary_kind(op, lhs.data, rhs.data))
        return out

    def unary_op(self, arg, op):
        with np.errstate(all="ignore"):
            out = super().unary_op(arg, op)
        _inherit(out.data, arg.data)  # NumPy's exp and log forget whose NaN it was
        infinite = "log of zero" if op in (np.log, np.log2) else "overflow"
        self._inspect(out.data, (arg.data,), lambda: "outside the domain", infinite)
        return out

    def create_fma(self, x, y, z):
        out = super().create_fma(x, y, z)
        self._inspect(out.data, (x.data, y.data, z.data), lambda: "inf minus inf")
        return out

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        with np.errstate(all="ignore"):
            out = super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
        if _floats(out.data) and not (np.isnan(a.data).any() or np.isnan(b.data).any()):
            self._inspect(out.data, (d.data,), lambda: _product_kind(a.data, b.data))
        return out

    def cast_impl(self, src, dst_type):
        out = super().cast_impl(src, dst_type)
        self._inspect(out.data, (src.data,), lambda: "outside the domain")
        return out

    def _load(self, ptrs, mask, other):
        out = super()._load(ptrs, mask, other)
        if not _floats(out.data):
            return out
        data = np.asarray(out.data)
        hidden = None if mask is None else ~np.broadcast_to(mask, data.shape)
        if hidden is not None and other is None and hidden.any():
            self._mark(data, hidden & np.isnan(data), "masked load without other", self._tensor(ptrs))
        fresh = np.isnan(data) & (_payload(data) == 0)
        if hidden is not None:
            fresh &= ~hidden
        if fresh.any():
            self._mark(data, fresh, "uninitialised memory", self._tensor(ptrs))
        return out

    def _inspect(
        self, out: np.ndarray, operands: tuple, kind: Callable[[], str], infinite: str = "overflow"
    ) -> None:
        if not _floats(out) or not isinstance(out, np.ndarray):
            return
        finite = np.isfinite(out)
        if finite.all():
            return
        born = np.isnan(out)
        tame = ~finite & ~born
        for operand in operands:
            if _floats(operand):
                born = born & ~np.isnan(operand)
                tame = tame & np.isfinite(operand)
        if born.any():
            self._mark(out, np.broadcast_to(born, out.shape), kind(), "")
        if tame.any():
            reason = "division by zero" if _divides_by_zero(operands, tame) else infinite
            self.births.note_infinite(reason, self.memory.place(), self.memory.program)

    def _mark(self, data: np.ndarray, where: np.ndarray, kind: str, tensor: str) -> None:
        number = self.births.note(kind, self.memory.place(), tensor)
        if number and data.dtype.itemsize in LAYOUT and data.dtype.kind == "f" and data.flags.writeable:
            whole, nan, shift, _ = LAYOUT[data.dtype.itemsize]
            if data.flags.c_contiguous:
                data.view(whole)[where] = whole(nan | (number << shift))

    def _tensor(self, ptrs) -> str:
        flat = np.ravel(ptrs.data)
        region = self.memory.regions.get(int(flat[0]) >> 48) if flat.size else None
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


def _product_kind(left: np.ndarray, right: np.ndarray) -> str:
    for one, other in ((left, right), (right, left)):
        if np.isinf(one).any() and (other == 0).any():
            return "zero times inf"
    return "inf minus inf"


def _divides_by_zero(operands: tuple, where: np.ndarray) -> bool:
    return len(operands) == 2 and bool((np.broadcast_to(operands[1], where.shape)[where] == 0).all())
