"""The ladder from lesson 06's forward pass to `tuned_forward`: each rung is one change of one kernel.

    >>> variant = upto("two loops")                  # the kernel with this rung and those below it
    >>> o, lse = forward(variant)(q, k, v, True, 0.125)

Which rungs are kept is decided by measuring (`climbing.py`), for each D and mask by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.shapes import Shape
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import EDGE, tuned_forward
from flashlearn.lessons.lesson_12_tuning.rung_kernel import HEAVY_FIRST, IN_GROUPS, PLAIN, Variant, forward

__all__ = ["BACKWARD", "END", "RUNGS", "START", "Rung", "backward_calls", "forward", "upto"]


START, END = "lesson 06", "tuned_forward"
"""Where the ladder begins, and where it ends."""


@dataclass(frozen=True)
class Rung:
    """One change: its name, what it is, and what it sets in the kernel below it."""

    name: str
    what: str
    change: dict[str, Any]

    def on(self, below: Variant) -> Variant:
        """The variant below with this change."""
        return replace(below, **self.change)


RUNGS = (
    Rung("powers of two", "alpha log2 e folded into the exponent", {"fold": True}),
    Rung("two loops", "whole tiles without a mask", {"split": True}),
    Rung("descriptors", "Q, K and V through the copy engine", {"described": True}),
    Rung("O where K lay", "O is stored through shared memory, by the copy engine", {"store": True}),
    Rung("128 keys", "tiles of 64 queries and 128 keys, 2 stages", {"shape": Shape(64, 128, 4, 2)}),
    Rung(
        "three programs",
        "a step and a shape of which three fit on a multiprocessor (section 7)",
        {"shape": Shape(64, 128, 4, 1, registers=160), "late_v": True},
    ),
    Rung("heavy first", "the longest loops of all heads begin first", {"order": HEAVY_FIRST}),
    Rung("heads in groups", "as many heads side by side as fit the L2 cache", {"order": IN_GROUPS}),
    Rung("small masked tiles", f"{EDGE} keys in a masked tile", {"edge": EDGE}),
    Rung("persistent", "three programs to a multiprocessor, block after block", {"persistent": True}),
)
"""The changes of the forward pass in the order in which they are tried."""
BACKWARD = (
    ("two plain kernels", "lessons 07 and 08"),
    ("tuned, plain shapes", "keys first, powers of two, two loops, descriptors; 64 × 64, 3 stages"),
    ("tuned", "blocks and stages so that two programs fit into a multiprocessor"),
)
"""The backward pass: name, and what changes."""


def upto(name: str) -> Variant:
    """Lesson 06's kernel with all rungs up to this one; START is the kernel without any."""
    variant = Variant()
    if name == START:
        return variant
    for rung in RUNGS:
        variant = rung.on(variant)
        if rung.name == name:
            return variant
    raise ValueError(f"there is no rung {name!r}: the ladder has {', '.join(one.name for one in RUNGS)}")


def backward_calls(q: Tensor, k: Tensor, v: Tensor, do: Tensor, causal: bool) -> dict[str, Callable[[], Any]]:
    """Three backward passes by their rung's name; o and lse are computed beforehand."""
    alpha = q.shape[-1] ** -0.5
    o, lse = tuned_forward(q, k, v, causal, alpha)
    to_dq, to_dkv = (dq_kernel_causal, dkv_kernel_causal) if causal else (dq_kernel, dkv_kernel)

    def plain() -> tuple[Tensor, ...]:
        return to_dq(q, k, v, o, do, lse, alpha), *to_dkv(q, k, v, o, do, lse, alpha)

    given = (q, k, v, o, do, lse, causal, alpha)
    cut = functools.partial(tuned_backward, *given, shapes=(PLAIN, PLAIN))
    calls = (plain, cut, functools.partial(tuned_backward, *given))
    return {name: call for (name, _), call in zip(BACKWARD, calls, strict=True)}
