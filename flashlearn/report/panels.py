"""How an output splits into panels: matrices, one for each head.

>>> split((2, 3, 37, 16), {"B": 2, "H": 3, "S_q": 37, "D": 16})
Split(count=6, rows=37, columns=16, strip=False, lead=(2, 3), noun='head', down=())
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flashlearn.exercise import Case
from flashlearn.later import numpy as np
from flashlearn.report.units import plural

QUERIES = ("o", "dq", "lse", "delta")  # outputs with a row, or an element, per query
KEYS = ("dk", "dv")
PAIRS = ("s", "p", "dp", "ds")  # queries down, keys across


@dataclass(frozen=True)
class Split:
    """`count` panels of rows × columns; each is one stretch of the output in memory order.

    `lead` are the dimensions that number the panels, `noun` is the name of one; `down` are the heads'
    dimensions where the rows of the one panel are heads (LSE, delta).
    """

    count: int
    rows: int
    columns: int
    strip: bool
    lead: tuple[int, ...]
    noun: str
    down: tuple[int, ...] = ()

    def title(self, number: int) -> str:
        """The name of panel `number`: «batch 1, head 2», «slice [1, 0]», nothing if it is the only one."""
        if self.count == 1:
            return ""
        return lead_name(self.lead, number, self.noun)


def split(shape: tuple[int, ...], sizes: Mapping[str, int]) -> Split:
    """The panels of an output of this shape (at least one dimension)."""
    heads = tuple(sizes[n] for n in ("B", "H") if n in sizes)
    known = len(heads) > 0 and shape[: len(heads)] == heads
    if known and len(shape) == len(heads) + 1:
        rows = int(np.prod(heads))
        return Split(1, rows, shape[-1], rows == 1, (), "head", heads if rows > 1 else ())
    if len(shape) < 3:
        return Split(1, *(1, *shape)[-2:], len(shape) == 1, (), "slice")
    lead = shape[:-2]
    noun = "head" if known and lead == heads else "slice"
    return Split(int(np.prod(lead)), shape[-2], shape[-1], False, lead, noun)


def dimension_names(shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[str, ...]:
    """What each dimension of an output counts: («batch», «head», «row», «column»); empty if unknown."""
    parts = split(shape, sizes)
    inner = ("element",) if parts.strip or parts.down else ("row", "column")
    outer = len(shape) - len(inner)
    if outer == 0:
        return inner
    heads = tuple(name for name, size in (("batch", "B"), ("head", "H")) if size in sizes)
    return (*heads, *inner) if len(heads) == outer and parts.noun == "head" else ()


def lead_name(lead: tuple[int, ...], number: int, noun: str) -> str:
    """The name of one head or slice; dimensions of size 1 are left out for heads."""
    index = [int(i) for i in np.unravel_index(number, lead)]
    if noun != "head":
        return f"slice {index}"
    names = ("batch", "head")[-len(lead) :]
    parts = [f"{name} {i}" for name, i, size in zip(names, index, lead, strict=True) if size > 1]
    return ", ".join(parts) or "head 0"


def axes_of(output: str, case: Case, parts: Split) -> tuple[str, str]:
    """Names of the rows and columns: from the output's name where it is known, else from the sizes."""
    wanted = {**dict.fromkeys(QUERIES, ("S_q", "D")), **dict.fromkeys(KEYS, ("S_k", "D"))}
    wanted |= dict.fromkeys(PAIRS, ("S_q", "S_k"))
    by_name: tuple[str, ...] = wanted.get(output, ())
    one_line = parts.strip or parts.down
    if one_line:
        by_name = by_name[:1]
    names = []
    for i, size in enumerate((parts.columns,) if one_line else (parts.rows, parts.columns)):
        fits = [name for name, n in case.sizes.items() if n == size]
        fallback = ("element",) if one_line else ("row", "column")
        if i < len(by_name) and by_name[i] in fits:
            names.append(by_name[i])
        else:
            names.append(fits[0] if len(fits) == 1 else fallback[i])
    if one_line:
        return ("head" if len([n for n in parts.down if n > 1]) < 2 else "batch and head", names[0])
    return names[0], names[1]


def rest_sentence(parts: Split, shown: int, wrong: int) -> str:
    """One sentence on the panels that are not shown; empty if all are."""
    left = parts.count - shown
    if left <= 0:
        return ""
    bad = max(wrong - shown, 0)
    good = left - bad
    first = f"{shown} of {plural(parts.count, parts.noun)} {'is' if shown == 1 else 'are'} shown"
    if wrong > shown:
        first += ", worst first"
    rest = []
    if bad:
        rest.append(f"{bad} more {'has' if bad == 1 else 'have'} wrong elements")
    if good:
        rest.append(f"{'the other' if not bad else 'and'} {good} {'is' if good == 1 else 'are'} right")
    return f"{first}; {' '.join(rest)}."
