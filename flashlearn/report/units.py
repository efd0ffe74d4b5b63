"""Numbers, dtypes and cases as people read them: two significant figures, bytes in KiB, times in µs.

>>> number(0.000031415), byte_size(49152), duration(3.14e-6)
('3.1e-5', '48 KiB', '3.14 µs')
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flashlearn.later import numpy as np

if TYPE_CHECKING:
    from flashlearn.exercise import Case

DTYPES = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float64": "fp64",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}
DIGITS = 4  # of the largest number where several have as many decimals


def times_the_limit(ratio: float) -> str:
    """What is above a limit, by a ratio over 1.

    >>> times_the_limit(1.03), times_the_limit(1.0004)
    ('1.03 times the limit', 'just above the limit')
    """
    figures = number(ratio, 3 if ratio < 10 else 2)
    return "just above the limit" if figures == "1" else f"{figures} times the limit"


def number(value: float, digits: int = 2) -> str:
    """`value` to `digits` significant figures; an exponent only where it saves zeros."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = float(f"{value:.{digits - 1}e}")
    if rounded == 0 or 1e-3 <= abs(rounded) < 1e5:
        return f"{rounded:.10f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def byte_size(count: float) -> str:
    """Bytes in the binary unit that leaves one to three digits before the point."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{_three(count)} {unit}"
        count /= 1024
    return f"{_three(count)} TiB"


def amount(count: float) -> str:
    """A count with a decimal prefix: 1.2 M, 340 k."""
    for prefix in ("", " k", " M", " G", " T"):
        if count < 1000 or prefix == " T":
            break
        count /= 1000
    return f"{_three(count)}{prefix}"


def duration(seconds: float, digits: int = 3) -> str:
    """Seconds in s, ms, µs or ns, to `digits` significant figures."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 0.0995 * (10 if factor > 1 else 1):
            return f"{number(seconds * factor, digits)} {unit}"
    return f"{number(seconds * 1e9, digits)} ns"


def times(factor: float) -> str:
    """A factor for a sentence: 1.4, 31, or «more than 1e6»."""
    return "more than 1e6" if factor > 1e6 else number(factor)


def plural(count: int, noun: str) -> str:
    """`3 cases`, `1 case`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def dtype_name(dtype: object) -> str:
    """A torch dtype as the field writes it: fp32, bf16, e4m3. Formulas have none, and count as fp32."""
    name = "float32" if dtype is None else str(dtype).removeprefix("torch.")
    return DTYPES.get(name, name)


def sizes_of(case: Case) -> str:
    """A case's dimensions by name, and what is unusual about its data."""
    parts = [" ".join(f"{name}={size}" for name, size in case.sizes.items())]
    if case.layout != "contiguous":
        parts.append(case.layout)
    if case.magnitude != 1.0:
        parts.append(f"values ×{number(case.magnitude)}")
    return ", ".join(part for part in parts if part)


def case_title(case: Case) -> str:
    """A case by its name and its precision."""
    dtype = dtype_name(case.dtype)
    return case.name if dtype in case.name.replace(",", " ").split() else f"{case.name}, {dtype}"


def aligned(values: np.ndarray, significant: np.ndarray | None = None) -> np.ndarray:
    """`values` as an array of texts with as many decimals each; with exponents where the scale asks for it.

    Entries that are `significant` are not rounded to zero, however small beside the others.

    >>> aligned(np.array([[1.5, -0.00031]])).tolist()
    [['1.500', '0.000']]
    """
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    plain = largest == 0 or 1e-3 <= largest < 1e5
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(max(DIGITS - 1 - exponent, 0), 6) if largest > 0 else 0
    texts = [
        _plain(x, decimals) if plain and math.isfinite(x) else number(x, 3) for x in values.ravel().tolist()
    ]
    if significant is not None:
        for i, (x, kept) in enumerate(zip(values.flat, significant.flat, strict=True)):
            if kept and x and not texts[i].strip("-0."):
                texts[i] = number(float(x))
    return np.array(texts, dtype=str).reshape(values.shape)


def _plain(value: float, decimals: int) -> str:
    """Without the minus sign of a number that rounds to zero."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _three(value: float) -> str:
    """Two figures below ten, no decimals above a hundred."""
    if value >= 99.5 or value == int(value):
        return f"{value:.0f}"
    return number(value, 2 if value < 9.95 else 3)
