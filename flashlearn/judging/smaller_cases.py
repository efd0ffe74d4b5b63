"""A case for timing that needs less memory: half the heads, or half the rows, and so on.

>>> [case.name for case in itertools.islice(smaller_cases(TIMING), 2)]
['S 1024, D 64, B·H 128, fp16', 'S 1024, D 64, B·H 64, fp16']
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from flashlearn.exercise import Case

FEWER = {"B": "batches", "H": "heads", "M": "rows", "rows": "rows", "n": "elements"}
"""The sizes that are halved, the first that there is, and what they count."""
HEADS = "B·H "


def smaller_cases(case: Case) -> Iterator[Case]:
    """The case with half as much, a quarter as much and so on; named by what it has."""
    while size := next((name for name in FEWER if case.sizes.get(name, 1) > 1), ""):
        case = _halved(case, size)
        yield case


def difference(small: Case, large: Case) -> tuple[str, str]:
    """What the two are called by, where they differ: «B·H 64» and «B·H 256», «512 rows» and «2048»."""
    if "B" in small.sizes:
        return HEADS + str(_heads(small)), HEADS + str(_heads(large))
    size = next(name for name in FEWER if small.sizes.get(name) != large.sizes.get(name))
    return f"{small.sizes[size]} {FEWER[size]}", str(large.sizes[size])


def _halved(case: Case, size: str) -> Case:
    before, after = case.sizes[size], case.sizes[size] // 2
    sizes = {**case.sizes, size: after}
    if size == "H" and "H_k" in sizes:
        sizes["H_k"] = max(sizes["H_k"] // 2, 1)
    small = dataclasses.replace(case, sizes=sizes)
    old, new = str(before), str(after)
    if size in ("B", "H"):
        old, new = HEADS + str(_heads(case)), HEADS + str(_heads(small))
    name = case.name.replace(old, new, 1) if old in case.name else f"{after} {FEWER[size]}"
    return dataclasses.replace(small, name=name)


def _heads(case: Case) -> int:
    return case.sizes.get("B", 1) * case.sizes.get("H", 1)
