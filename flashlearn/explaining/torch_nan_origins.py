"""Of which kind the first NaN is that a formula in torch makes: what a declared mistake's NaN comes from.

    >>> zero = torch.zeros(3)
    >>> first_birth(lambda x: x / x - 1, {"x": zero})
    'zero over zero'

The kinds are those of `interpreter.nan_origin.Birth`. Two mistakes may both end in nothing but NaN; where
their NaN are born in different ways, the numbers do not tell them apart, and this does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from flashlearn.interpreter.torch_nan import TorchNanOrigin

UNLIKE = "zero times inf"
"""Born of a product. The other kinds stand for one another: a row that sees nothing has −∞ − (−∞), or 0/0."""


def first_birth(formula: Callable[..., Any], inputs: Mapping[str, Any]) -> str:
    """The kind of the first NaN that the formula makes; "" if it makes none, or in another way.

    Nor is one told where numbers outgrew the format before: what becomes of ∞ depends on the order of the
    operations, which a kernel may choose.
    """
    births = TorchNanOrigin()
    given = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    with torch.no_grad(), births:
        formula(**given)
    return births.kind or ""


def another(one: str, other: str, everywhere: bool) -> bool:
    """Whether two kinds of births are not those of one mistake.

    Where NaN stand `everywhere` they tell nothing by their places, and the kinds have to be the same.
    """
    return one != other and (everywhere or UNLIKE in (one, other))
