"""Numbers as the lessons' pictures print them."""

from __future__ import annotations

import math


def number(value: float, digits: int = 3) -> str:
    """A number as in print: at most `digits` decimals, no needless zeros, a true minus sign, ∞ as such."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def binary(count: float) -> str:
    """A number of bytes in KiB, MiB, …: binary(65536) is "64 KiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:g} {unit}"
        count /= 1024
    raise AssertionError("unreachable")
