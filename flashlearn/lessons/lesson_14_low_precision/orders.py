"""In which order 16 keys lie in V and P, and what each order costs in exchanges between threads.

>>> [key_at(place) for place in range(4)]       # what thread 0 needs as an operand, and what it has
[0, 1, 8, 9]
>>> shuffles(range(16)), shuffles(map(key_at, range(16)))
(24, 8)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from flashlearn.compiler.listing import counts, listing
from flashlearn.kernels import fp8_forward as forward
from flashlearn.lessons.lesson_14_low_precision.attention import launch
from flashlearn.lessons.shared.variants import Variant, variant

KEYS = 16
AS_STORED = "p.reshape(rows, keys // 16, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(rows, keys)"


def thread_with(key: int) -> int:
    """Which thread of four has a key of 16 after the product that made it."""
    return key % 8 // 2


def thread_at(place: int) -> int:
    """Which thread of four must have a place of 16 in an operand of eight bits."""
    return place // 4


def key_at(place: Any) -> Any:
    """The key that is stored at a place of 16: each thread's own four keys, ascending."""
    return place // 4 * 2 + place % 4 // 2 * 8 + place % 2


def bits(order: Iterable[Any]) -> tuple[int, int, int, int]:
    """For each bit of a place, lowest first, the bit of the key that it becomes.

    Raises ValueError for numbers that are not such an order: the kernel reorders by reshape and permute.
    """
    keys = [int(key) for key in order]
    if sorted(keys) != list(range(KEYS)):
        raise ValueError(f"{keys} are not the keys 0 to 15, each once")
    found = tuple(keys[1 << bit].bit_length() - 1 for bit in range(4))
    made = [sum((place >> bit & 1) * keys[1 << bit] for bit in range(4)) for place in range(KEYS)]
    if made != keys or sorted(found) != [0, 1, 2, 3]:
        raise ValueError(f"{keys} do not follow from exchanging bits, as a reshape and a permute do it")
    return found


def renamed(order: Iterable[Any]) -> Variant:
    """The forward kernel with P's columns in that order: to be compiled, not run, since V keeps its own."""
    axes = [5 - bit for bit in reversed(bits(order))]  # of [rows, sixteens, bit 3, bit 2, bit 1, bit 0]
    permuted = f"p.reshape(rows, keys // 16, 2, 2, 2, 2).permute(0, 1, {', '.join(map(str, axes))})"
    return variant(
        forward.fp8_forward, forward.as_stored, forward.scan_keys_fp8, forward.fp8_forward_kernel,
        edits=((AS_STORED, f"{permuted}.reshape(rows, keys)"),),
    )  # fmt: skip


def ptx(launcher: Any, D: int = 64) -> str:
    """What the compiler writes for an H100."""
    return str(listing(launch(D, launcher), 90)["ptx"])


def shuffles(order: Iterable[Any], D: int = 64) -> int:
    """Exchanges between threads in the kernel's code for an H100, with P's columns in that order."""
    return counts(ptx(renamed(order), D))["shfl.sync"]


def tile_by_tile(D: int = 64) -> dict[str, dict[str, int]]:
    """Instructions of the loop's kernel if V stays [keys, D], and with V stored along the keys."""
    as_it_is = variant(
        forward.fp8_forward, forward.scan_keys_fp8, forward.fp8_forward_kernel,
        edits=(
            (
                "t = t_desc.load([b, h, 0, start]).reshape(BLOCK_D, BLOCK_K)",
                "t = t_desc.load([b, h, start, 0]).reshape(BLOCK_K, BLOCK_D)",
            ),
            ("as_stored(p.to(t.dtype)), t.T", "p.to(t.dtype), t"),
            ("complying(k), keys_last(v)", "complying(k), complying(v)"),
            ("described(t, wide, cut.block_k)", "described(t, cut.block_k, wide)"),
        ),
    )  # fmt: skip
    found = {}
    for name, launcher in (("V as it is", as_it_is), ("V stored along the keys", forward.fp8_forward)):
        text = ptx(launcher, D)
        exchanged = {"prmt": len(re.findall(r"\bprmt\.", text))}
        found[name] = {kind: counts(text)[kind] for kind in ("st.shared", "shfl.sync")} | exchanged
    return found
