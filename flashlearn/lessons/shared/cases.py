"""Cases whose names and tags follow from their sizes, dtype, layout and data.

    >>> def rows(M, N, dtype=torch.float32, note="", **more):
    ...     return build_case(f"{M}×{N}", {"M": M, "N": N}, dtype, note, tags={"ragged": N % 32 != 0}, **more)
    >>> rows(3, 200, torch.float16, seed=12).name
    '3×200, fp16'
    >>> rows(4, 50, note="scores around ±100", magnitude=100.0).tags
    frozenset({'ragged', 'large'})

Each family of exercises has one such function, in which its sizes get their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashlearn.exercise import Case
from flashlearn.later import torch

DTYPE_NAMES = {"torch.float16": "fp16", "torch.bfloat16": "bf16", "torch.float64": "fp64"}
"""How a case's name calls its dtype; fp32 goes without saying."""


def build_case(
    label: str,
    sizes: Mapping[str, int],
    dtype: torch.dtype | None = None,
    note: str = "",
    *,
    tags: Mapping[str, bool] | None = None,
    **more: Any,
) -> Case:
    """A case called by `label` (its sizes in words), its dtype, and `note`.

    Without a note the name says what `magnitude`, `data` and `layout` are where they are not the usual ones.
    "half", "strided" and "large" (a magnitude above 2) are set from the fields; `tags` adds others and
    overrides these. `more` are the other fields of `Case`.
    """
    magnitude, layout = more.get("magnitude", 1.0), more.get("layout", "contiguous")
    special = [
        f"values ×{magnitude:g}" if magnitude != 1 else "",
        more["data"] if more.get("data", "normal") != "normal" else "",
        layout if layout != "contiguous" else "",
    ]
    parts = [label, DTYPE_NAMES.get(str(dtype), ""), *([note] if note else special)]
    half = dtype is not None and dtype.itemsize == 2
    known = {"half": half, "strided": layout != "contiguous", "large": magnitude > 2}
    on = frozenset(tag for tag, holds in {**known, **(tags or {})}.items() if holds)
    precision = {} if dtype is None else {"dtype": dtype}
    return Case(", ".join(part for part in parts if part), dict(sizes), tags=on, **precision, **more)
