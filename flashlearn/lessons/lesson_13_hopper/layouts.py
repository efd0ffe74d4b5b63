"""Who holds an element: Triton's own linear layouts, asked for without a GPU.

>>> owner(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]), (32, 64), (5, 17))
Owner(warp=1, lane=12, register=1)

A layout of registers maps (register, lane, warp) to an element, one of shared memory an offset to an
element; both are exclusive-ors of one coordinate for each bit (Zhou et al., *Linear Layouts*, 2025).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import triton
from triton._C.libtriton import gluon_ir, ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

Shape = tuple[int, ...]
BANKS, WORD = 32, 4


class Owner(NamedTuple):
    """A register of a thread: which of its warp's 32 lanes, in which warp."""

    warp: int
    lane: int
    register: int


@functools.cache
def _builder() -> tuple[Any, Any]:
    context = ir.context()
    ir.load_dialects(context)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(context)
    return gluon_ir.GluonOpBuilder(context), context


def linear(layout: Any, shape: Sequence[int]) -> Any:
    """The layout by its bases, as Triton's compiler computes them."""
    builder, _ = _builder()
    return builder.to_linear_layout(layout._to_ir(builder), list(shape))


def _reached(bases: Sequence[Sequence[int]], rank: int) -> np.ndarray:
    """The element that each number leads to: the exclusive-or of the bases of its bits."""
    reached = np.zeros((1, rank), dtype=np.int64)
    for basis in bases:
        reached = np.concatenate([reached, reached ^ np.array(basis, dtype=np.int64)])
    return reached


def threads(layout: Any, shape: Shape) -> np.ndarray:
    """The element of each register of each thread: [warps, lanes, registers, dimensions]."""
    found, rank = linear(layout, shape), len(shape)
    warps, lanes, registers = (
        _reached(bases, rank) for bases in (found.warp_bases, found.lane_bases, found.reg_bases)
    )
    return warps[:, None, None] ^ lanes[None, :, None] ^ registers[None, None, :]


def holders(layout: Any, shape: Shape, element: Sequence[int]) -> list[Owner]:
    """All threads that hold an element; a reduction, or a tile that is too small, leaves more than one."""
    where = np.argwhere((threads(layout, shape) == np.array(element)).all(axis=-1))
    return [Owner(*(int(number) for number in row)) for row in where]


def owner(layout: Any, shape: Shape, element: Sequence[int]) -> Owner:
    """The first thread that holds an element."""
    return holders(layout, shape, element)[0]


def owners(layout: Any, shape: Shape) -> np.ndarray:
    """The first holder of every element: [*shape, 3] with its warp, lane and register."""
    held = threads(layout, shape)
    found = np.full((*shape, 3), -1)
    for warp, lane, register in reversed(list(np.ndindex(held.shape[:3]))):
        found[tuple(held[warp, lane, register])] = warp, lane, register
    return found


def moved(before: Any, after: Any, shape: Shape) -> dict[str, float]:
    """Where `convert_layout` has to bring the elements: how many stay in their thread, or in their warp."""
    one, other = owners(before, shape), owners(after, shape)
    warp, lane = (one[..., at] == other[..., at] for at in (0, 1))
    return {
        "stay in their thread": float((warp & lane).mean()),
        "go to another thread of the warp": float((warp & ~lane).mean()),
        "go to another warp": float((~warp).mean()),
    }


def asks_the_compiler() -> bool:
    """True if this Triton can be asked for a layout of shared memory: 3.6 ends the process instead."""
    return tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 7)


def offsets(layout: Any, shape: Shape) -> np.ndarray:
    """Where in shared memory each element lies, counted in elements from the tile's beginning.

    Asked of the compiler; where `asks_the_compiler` is false, by the rule of the PTX ISA.
    """
    if not asks_the_compiler():
        return _by_the_rule(layout, shape)
    reached = _reached(linear(layout, shape).offset_bases, len(shape))
    found = np.zeros(shape, dtype=np.int64)
    found[tuple(reached.T)] = np.arange(len(reached))
    return found


def _by_the_rule(layout: Any, shape: Shape) -> np.ndarray:
    """A swizzled row's pieces of 16 bytes are exchanged by the exclusive-or with the row's lowest bits.

    What is wider than the swizzle is stored in columns as wide as that, one after another.
    """
    element = layout.element_bitwidth // 8
    rows, columns = np.indices(shape)
    span = layout.swizzle_byte_width // element or shape[1]
    plain = (columns // span * (shape[0] * span) + rows * span + columns % span) * element
    pieces = max(layout.swizzle_byte_width // 16, 1)
    return (plain ^ ((plain >> 7) & (pieces - 1)) << 4) // element


def turns(offset_bytes: Sequence[int], width: int) -> int:
    """The turns that one access takes in which each lane reads `width` bytes: words in the fullest bank."""
    words = {byte // WORD + at for byte in offset_bytes for at in range(width // WORD)}
    in_bank = [word % BANKS for word in words]
    return max(map(in_bank.count, in_bank))
