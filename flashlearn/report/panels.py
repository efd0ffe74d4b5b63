"""How an output comes apart into matrices, a head each, and what a causal mask says about their rows.

>>> split((2, 3, 37, 16), {"B": 2, "H": 3, "S_q": 37, "D": 16})
Split(count=6, rows=37, columns=16, strip=False, lead=(2, 3), noun='head', down=())
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flashlearn.exercise import Case, Exercise
from flashlearn.report.units import plural

QUERIES = ("o", "dq", "lse", "delta")  # outputs with a row, or an element, per query
KEYS = ("dk", "dv")
PAIRS = ("s", "p", "dp", "ds")  # queries down, keys across


@dataclass(frozen=True)
class Split:
    """`count` panels of rows × columns; each is one stretch of the output in memory order.

    `lead` are the dimensions that number the panels, `noun` what one of them is; `down` are the heads'
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
        """What panel `number` is called: «batch 1, head 2», «slice [1, 0]», nothing if it is the only one."""
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


def counted(shape: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[str, ...]:
    """What each dimension of an output counts: («batch», «head», «row», «column»); empty if nobody knows."""
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
    said = [f"{name} {i}" for name, i, size in zip(names, index, lead, strict=True) if size > 1]
    return ", ".join(said) or "head 0"


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


@dataclass(frozen=True)
class Causal:
    """What a causal mask, aligned bottom-right, says: query i sees key j where j ≤ i + S_k − S_q.

    `axis` of the map holds what `about` says: "queries" or "keys"; "pairs" has queries down, keys across.
    """

    S_q: int
    S_k: int
    about: str
    axis: int = 0

    @property
    def offset(self) -> int:
        return self.S_k - self.S_q

    @property
    def blind(self) -> int:
        """How many queries, the first ones, see no key."""
        return max(-self.offset, 0)

    @property
    def marked(self) -> int:
        """Where along the axis the queries that see no key end; 0 where there is nothing to mark."""
        return self.blind if self.about in ("queries", "pairs") else 0

    def hidden(self, rows: slice, columns: slice) -> bool:
        """Whether the mask hides every element of a group of a queries × keys matrix."""
        return self.about == "pairs" and columns.start > rows.stop - 1 + self.offset

    def words(self, start: int, stop: int) -> str:
        """What is true of positions `start` to `stop − 1` along the axis; empty if all is seen."""
        last = stop - 1 + self.offset
        several = stop - start > 1
        if self.about == "keys":
            first = start - self.offset
            keys = "see none of these keys" if several else "do not see this key"
            return f"queries before {first} {keys}" * (first > 0)
        who = "these queries see" if several else "this query sees"
        return f"{who} no key" if last < 0 else f"{who} no key after {last}" * (last < self.S_k - 1)

    @property
    def note(self) -> str:
        """The sentence under the map."""
        if not self.marked:
            return ""
        who = "query 0 sees" if self.blind == 1 else f"queries 0 to {self.blind - 1} see"
        return f"Causal with S_q > S_k: {who} no key."


def causal_of(exercise: Exercise, case: Case, output: str, parts: Split) -> Causal | None:
    """The mask's boundary on this output; None without a mask, or where an axis is not known for sure."""
    sizes = case.sizes
    if not {"S_q", "S_k"} <= set(sizes) or not _is_causal(exercise, case):
        return None
    S_q, S_k = sizes["S_q"], sizes["S_k"]
    one_line = bool(parts.strip or parts.down)
    if output in PAIRS and not one_line and (parts.rows, parts.columns) == (S_q, S_k):
        return Causal(S_q, S_k, "pairs")
    length = parts.columns if one_line else parts.rows
    for names, about, size in ((QUERIES, "queries", S_q), (KEYS, "keys", S_k)):
        if output in names and length == size:
            return Causal(S_q, S_k, about, int(one_line))
    return None


def _is_causal(exercise: Exercise, case: Case) -> bool:
    if exercise.judged.causal:
        return True
    if "causal" not in exercise.parameters() or case.gpu:
        return False
    return exercise.inputs(case, case.generator()).get("causal") is True


def others(parts: Split, shown: int, wrong: int) -> str:
    """One sentence on the panels that are not shown; empty if all are."""
    left = parts.count - shown
    if left <= 0:
        return ""
    bad = max(wrong - shown, 0)
    good = left - bad
    first = f"{shown} of {plural(parts.count, parts.noun)} {'is' if shown == 1 else 'are'} shown"
    if wrong > shown:
        first += ", worst first"
    said = []
    if bad:
        said.append(f"{bad} more {'has' if bad == 1 else 'have'} wrong elements")
    if good:
        said.append(f"{'the other' if not bad else 'and'} {good} {'is' if good == 1 else 'are'} right")
    return f"{first}; {' '.join(said)}."
