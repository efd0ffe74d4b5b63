"""Of which kind the first NaN is that a formula in torch makes: what a declared mistake's NaN comes from.

    >>> zero = torch.zeros(3)
    >>> first_birth(lambda x: x / x - 1, {"x": zero})
    'zero over zero'

The kinds are those of `interpreter.nan_origin.Birth`. Two mistakes may both end in nothing but NaN; where
their NaN are born in different ways, the numbers do not tell them apart, and this does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from flashlearn.interpreter.modes import LightMode

UNLIKE = "zero times inf"
"""Born of a product. The other kinds stand for one another: a row that sees nothing has −∞ − (−∞), or 0/0."""

SUMS = {"add", "add_", "sub", "sub_", "rsub", "sum", "cumsum", "mean", "logsumexp"}
PRODUCTS = {"mul", "mul_", "mm", "bmm", "matmul", "addmm", "baddbmm", "mv", "dot"}
GROWING = {"exp", "exp_", "exp2", "exp2_", *PRODUCTS}
QUOTIENTS = {"div", "div_"}


def first_birth(formula: Callable[..., Any], inputs: Mapping[str, Any]) -> str:
    """The kind of the first NaN that the formula makes; "" if it makes none, or in another way.

    Nor is one told where numbers outgrew the format before: what becomes of ∞ depends on the order of the
    operations, which a kernel may choose.
    """
    births = _Births()
    given = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    with torch.no_grad(), births:
        formula(**given)
    return births.kind or ""


def another(one: str, other: str, everywhere: bool) -> bool:
    """Whether two kinds of births are not those of one mistake.

    Where NaN stand `everywhere` they tell nothing by their places, and the kinds have to be the same.
    """
    return one != other and (everywhere or UNLIKE in (one, other))


class _Births(LightMode):
    """Remembers how the first NaN came about; `kind` is None until there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: str | None = None
        self.outgrown = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if self.kind is None and _has_nan(out):
            operands = _floats(args)
            if not any(map(_has_nan, operands)):
                self.kind = "" if self.outgrown else _kind(func.overloadpacket.__name__, operands)
        elif func.overloadpacket.__name__ in GROWING and _has_inf(out):
            self.outgrown |= not any(map(_has_inf, _floats(args)))
        return out


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
