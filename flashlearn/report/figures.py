"""A tile's numbers on one scale, as people line them up: the largest with four significant digits.

>>> figures(np.array([[1.5, -0.00031]])).tolist()
[['1.500', '0.000']]
"""

from __future__ import annotations

import math

import numpy as np

from flashlearn.report.units import number

DIGITS = 4


def figures(values: np.ndarray, telling: np.ndarray | None = None) -> np.ndarray:
    """`values` as an array of texts with as many decimals each; with exponents where the scale asks for it.

    Entries that are `telling` are not rounded to zero, however small beside the others.
    """
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    plain = largest == 0 or 1e-3 <= largest < 1e5
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(max(DIGITS - 1 - exponent, 0), 6) if largest > 0 else 0
    texts = [
        _plain(x, decimals) if plain and math.isfinite(x) else number(x, 3) for x in values.ravel().tolist()
    ]
    for i, (x, tells) in enumerate(zip(values.flat, [] if telling is None else telling.flat, strict=False)):
        if tells and x and not texts[i].strip("-0."):
            texts[i] = number(float(x))
    return np.array(texts, dtype=str).reshape(values.shape)


def _plain(value: float, decimals: int) -> str:
    """Without the minus sign of a number that rounds to zero."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"
