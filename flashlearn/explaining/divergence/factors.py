"""A factor by its meaning: alpha, log2 e and their like, with its size."""

from __future__ import annotations

import math

from flashlearn.quantity import Quantity

ORDINARY = (0.5, 1.0, 2.0)
"""An alpha of this size tells nothing: other factors are as large."""

SAME = 1e-4


def factor_words(factor: float, alpha: float) -> str:
    """The factor with its meaning in a case whose scores are scaled by this alpha, if it has one.

    >>> factor_words(0.0625, 0.25), factor_words(3.0, 0.25)
    ('alpha² (0.0625)', '3')
    """
    base = {"log2 e": 1 / math.log(2), "ln 2": math.log(2)}
    if abs(alpha) not in ORDINARY and alpha:
        known = {"alpha": alpha, "alpha²": alpha * alpha, "1/alpha": 1 / alpha}
        known |= {f"{name} log2 e": value / math.log(2) for name, value in known.items()}
        base |= known
    shown = f"{factor:.4g}".replace("-", "−")
    name = next((n for n, value in base.items() if math.isclose(factor, value, rel_tol=SAME)), "")
    return f"{name} ({shown})" if name else shown


def times(factor: float, quantity: Quantity, alpha: float) -> str:
    """A multiple of a quantity in words."""
    words = quantity.words
    return (
        words if math.isclose(factor, 1.0, rel_tol=SAME) else f"{factor_words(factor, alpha)} times {words}"
    )
