"""The first NaN that torch makes out of numbers that were none: of which kind, and in which line."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Sequence
from typing import Any

import torch

from flashlearn.interpreter.dispatch_mode import LightDispatchMode
from flashlearn.observation import Place

SUMS = {"add", "add_", "sub", "sub_", "rsub", "sum", "cumsum", "mean", "logsumexp"}
SUMS |= {"softmax", "_softmax", "log_softmax", "_log_softmax"}
SIGNLESS = {"sum", "cumsum", "mean"}
"""Of these, infinities of one sign make no NaN."""
PRODUCTS = {"mul", "mul_", "mm", "bmm", "matmul", "addmm", "baddbmm", "mv", "dot"}
GROWING = {"exp", "exp_", "exp2", "exp2_", *PRODUCTS}
QUOTIENTS = {"div", "div_"}


class TorchNanOrigin(LightDispatchMode):
    """How the first NaN came about: `kind` is None until there is one, `place` is a line of the `file`.

    The kinds are those of `NonFiniteOrigin` in interpreter.observers.nan_origin, or "" for another kind,
    also where numbers overflowed before: what becomes of ∞ depends on the order of the operations. Its
    `infinities` are those of `NonFiniteOrigin`.
    """

    def __init__(self, file: str = "") -> None:
        super().__init__()
        self.file = file
        self.kind: str | None = None
        self.place: Place | None = None
        self.infinities = ""
        self.outgrown = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if self.kind is None and _has_nan(out):
            operands = _floats(args)
            if not any(map(_has_nan, operands)):
                name = func.overloadpacket.__name__
                self.kind = "" if self.outgrown else _kind(name, operands)
                self.infinities = _infinities(name, operands) if self.kind == "inf minus inf" else ""
                self.place = _place_in(self.file)
        elif func.overloadpacket.__name__ in GROWING and _has_inf(out):
            self.outgrown |= not any(map(_has_inf, _floats(args)))
        return out

    def observation(self) -> tuple[str, Place | None, str]:
        """The kind of the first NaN, "" if there is none, its line, and the infinities it was made of."""
        return self.kind or "", self.place, self.infinities


def _place_in(file: str) -> Place | None:
    """The innermost line of the file that is running."""
    frame = sys._getframe(2) if file else None
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    if frame is None:
        return None
    text = linecache.getline(file, frame.f_lineno).rstrip()
    return Place(file, frame.f_lineno, text, frame.f_code.co_name)


def _floats(args: Sequence[Any]) -> list[torch.Tensor]:
    return [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]


def _has_inf(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point() and bool(torch.isinf(x).any())


def _has_nan(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point() and bool(torch.isnan(x).any())


def _kind(name: str, operands: list[torch.Tensor]) -> str:
    if name in SUMS:
        return "inf minus inf"
    if name in PRODUCTS:
        return "zero times inf"
    if name in QUOTIENTS and len(operands) == 2:
        return "inf over inf" if all(bool(torch.isinf(x).any()) for x in operands) else "zero over zero"
    return ""


def _infinities(name: str, operands: list[torch.Tensor]) -> str:
    """Which infinities a sum or a difference was made of, if the operands leave no choice."""
    if name in ("add", "add_"):
        return "+∞ + −∞"
    infinite = [x[torch.isinf(x)] for x in operands]
    if name in SIGNLESS or not any(x.numel() for x in infinite):
        return ""
    if all(bool((x < 0).all()) for x in infinite):
        return "−∞ − −∞"
    return "+∞ − +∞" if all(bool((x > 0).all()) for x in infinite) else ""
