"""A ring whose turns are counted by an aggregate, with all that its partitions share in another one."""

# ruff: noqa: RUF005  a compiled kernel knows no starred list, an aggregate no annotation as text

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.language.core import _aggregate as aggregate

from tests.interpreter.gluon.gluon_kernels import described

ROWS, COLUMNS = 64, 128


@aggregate
class Turn:
    """Which buffer is next, and the parity that its barrier has then."""

    slot: gl.tensor
    parity: gl.tensor
    stages: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, slot, parity, stages):
        self.slot = slot
        self.parity = parity
        self.stages = gl.constexpr(stages)

    @gluon.jit
    def first(parity, stages: gl.constexpr):
        return Turn(gl.to_tensor(0), gl.to_tensor(parity), stages)

    @gluon.must_use_result
    @gluon.jit
    def next(self, taken=True):
        slot = self.slot + gl.where(taken, 1, 0)
        around = slot == self.stages
        return Turn(gl.where(around, 0, slot), gl.where(around, self.parity ^ 1, self.parity), self.stages)


@aggregate
class Shared:
    """Descriptors, buffers and barriers; into how many `parts` a tile is cut, and by how many `warps`."""

    x_desc: tma.tensor_descriptor
    y_desc: tma.tensor_descriptor
    tiles: gl.shared_memory_descriptor
    part: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    parts: gl.constexpr
    warps: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, x_desc, y_desc, tiles, part, full, empty, parts, warps):
        self.x_desc = x_desc
        self.y_desc = y_desc
        self.tiles = tiles
        self.part = part
        self.full = full
        self.empty = empty
        self.parts = gl.constexpr(parts)
        self.warps = gl.constexpr(warps)


@gluon.jit
def cut(tile, parts: gl.constexpr):
    pieces = (tile,)
    for _ in gl.static_range(parts.bit_length() - 1):
        finer = ()
        for j in gl.static_range(len(pieces)):
            piece = pieces[j]
            finer += piece.reshape(piece.shape[0], 2, piece.shape[1] // 2).permute(0, 2, 1).split()
        pieces = finer
    return pieces


@gluon.jit
def bring(shared, steps):
    turn = Turn.first(1, shared.empty.shape[0])
    for i in range(steps):
        bar = shared.full.index(turn.slot)
        mbarrier.wait(shared.empty.index(turn.slot), turn.parity)
        mbarrier.expect(bar, shared.x_desc.block_type.nbytes)
        at = i * shared.x_desc.block_type.shape[1]
        tma.async_copy_global_to_shared(shared.x_desc, [0, at], bar, shared.tiles.index(turn.slot))
        turn = turn.next()


@gluon.jit
def square(shared, steps):
    columns: gl.constexpr = shared.x_desc.block_type.shape[1]
    width: gl.constexpr = columns // shared.parts
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [8, 4], [shared.warps, 1], [1, 0])
    turn = Turn.first(0, shared.full.shape[0])
    for i in range(steps):
        mbarrier.wait(shared.full.index(turn.slot), turn.parity)
        x = shared.tiles.index(turn.slot).load(layout)
        fence_async_shared()
        mbarrier.arrive(shared.empty.index(turn.slot), count=1)
        turn = turn.next(i >= 0)
        pieces = cut(x * x, shared.parts)
        for j in gl.static_range(len(pieces)):
            tma.store_wait(pendings=0)
            shared.part.store(pieces[j].to(shared.y_desc.dtype))
            fence_async_shared()
            tma.async_copy_shared_to_global(shared.y_desc, [0, i * columns + width * j], shared.part)
    tma.store_wait(pendings=0)


@gluon.jit
def squares(x_desc, y_desc, steps, STAGES: gl.constexpr, PARTS: gl.constexpr, num_warps: gl.constexpr):
    tiles = gl.allocate_shared_memory(x_desc.dtype, [STAGES] + x_desc.block_type.shape, x_desc.layout)
    part = gl.allocate_shared_memory(y_desc.dtype, y_desc.block_type.shape, y_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    shared = Shared(x_desc, y_desc, tiles, part, full, empty, PARTS, num_warps)
    gl.warp_specialize([(square, (shared, steps)), (bring, (shared, steps))], [1], [24])


def squared(x: torch.Tensor, stages: int, parts: int) -> torch.Tensor:
    """The squares of x (64, a multiple of 128), which go out in `parts` pieces a tile."""
    y = torch.empty_like(x)
    x_desc, y_desc = described(x, [ROWS, COLUMNS]), described(y, [ROWS, COLUMNS // parts])
    squares[(1,)](x_desc, y_desc, x.shape[1] // COLUMNS, STAGES=stages, PARTS=parts, num_warps=4)
    return y
