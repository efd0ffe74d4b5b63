"""Layouts of results: by rule where the rule is plain, else a stand-in that fits everything.

A layout moves no value, so a wrong guess here could only refuse a right kernel. Where the compiler's
inference is more than a rule (a reshape, a join), an `InferredLayout` takes the place of its answer and
equals every layout: the compiler itself looks at each kernel that has passed, and refuses what does not
fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from triton.experimental.gluon.language._layouts import (
    AutoLayout,
    BlockedLayout,
    CoalescedLayout,
    DistributedLayout,
    NVMMASharedLayout,
    SliceLayout,
    SwizzledSharedLayout,
)


@dataclass(frozen=True)
class InferredLayout(DistributedLayout):
    """What the compiler infers of a result of `rank` dimensions."""

    dimensions: int

    @property
    def rank(self) -> int:
        """Dimensions of what it lays out."""
        return self.dimensions

    def mangle(self) -> str:
        """As the compiler would name it, were it one of its own."""
        return f"inferred{self.dimensions}"


def is_open(layout: Any) -> bool:
    """True if a layout is known to the compiler alone."""
    if isinstance(layout, SliceLayout):
        return is_open(layout.parent)
    return isinstance(layout, InferredLayout)


def transposed(layout: Any, order: Sequence[int]) -> Any:
    """The layout of a tile whose dimensions are put in this order."""
    if isinstance(layout, AutoLayout | CoalescedLayout):
        return layout
    if not isinstance(layout, BlockedLayout) or layout.cga_layout:
        return InferredLayout(len(order))
    sizes = (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta)
    moved = [[size[d] for d in order] for size in sizes]
    return BlockedLayout(*moved, [list(order).index(d) for d in layout.order])


def reshaped(layout: Any, rank: int) -> Any:
    """The layout of a tile in another shape, or joined with another, or split."""
    return layout if isinstance(layout, AutoLayout | CoalescedLayout) else InferredLayout(rank)


def shared_transposed(layout: Any, order: Sequence[int]) -> Any:
    """The layout of shared memory whose dimensions are put in this order."""
    if isinstance(layout, NVMMASharedLayout) and list(order[-2:]) == [len(order) - 1, len(order) - 2]:
        return replace(layout, transposed=not layout.transposed)
    if isinstance(layout, SwizzledSharedLayout) and type(layout) is SwizzledSharedLayout:
        return replace(layout, order=[list(order).index(d) for d in layout.order])
    return layout


def shared_reshaped(layout: Any, rank: int) -> Any:
    """The layout of shared memory in another shape."""
    return replace(layout, rank=rank) if isinstance(layout, NVMMASharedLayout) else layout
