"""Partitions that meet in global memory: how they do is said by `HOW`, and most ways are right."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

from tests.interpreter.gluon.gluon_kernels import described

COUNT = 128


@gluon.jit
def first(x_ptr, y_ptr, bar, layout: gl.constexpr, HOW: gl.constexpr):
    i = gl.arange(0, 128, layout)
    if HOW == "read before":
        gl.store(x_ptr + i, gl.load(y_ptr + i))
    elif HOW == "a plain write of a sum" or HOW == "two sums":
        gl.atomic_add(y_ptr + i, gl.full([128], 1.0, gl.float32, layout))
    elif HOW == "read of what stays":
        gl.store(y_ptr + i, gl.full([128], 0.0, gl.float32, layout))
    else:
        gl.store(y_ptr + i, gl.full([128], 1.0, gl.float32, layout))
    if HOW == "behind a barrier" or HOW == "read behind a barrier":
        mbarrier.arrive(bar, count=1)


@gluon.jit
def second(x_ptr, y_ptr, bar, layout: gl.constexpr, HOW: gl.constexpr):
    i = gl.arange(0, 128, layout)
    if HOW == "behind a barrier" or HOW == "read behind a barrier":
        mbarrier.wait(bar, 0)
    if HOW == "read" or HOW == "read behind a barrier" or HOW == "read of what stays":
        gl.store(x_ptr + i, gl.load(y_ptr + i))
    elif HOW == "rows of its own":
        gl.store(y_ptr + 128 + i, gl.full([128], 2.0, gl.float32, layout))
    elif HOW == "the same value":
        gl.store(y_ptr + i, gl.full([128], 1.0, gl.float32, layout))
    elif HOW == "two sums":
        gl.atomic_add(y_ptr + i, gl.full([128], 2.0, gl.float32, layout))
    else:
        gl.store(y_ptr + i, gl.full([128], 2.0, gl.float32, layout))


@gluon.jit
def idle(x_ptr, y_ptr, bar, layout: gl.constexpr, HOW: gl.constexpr):
    gl.static_assert(HOW != "")


@gluon.jit
def meet(x_ptr, y_ptr, HOW: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    i = gl.arange(0, 128, layout)
    gl.store(y_ptr + i, gl.full([128], 0.0, gl.float32, layout))
    if HOW == "one after another":
        gl.warp_specialize(
            [(idle, (x_ptr, y_ptr, bar, layout, HOW)), (first, (x_ptr, y_ptr, bar, layout, HOW))], [4], [24]
        )
        gl.warp_specialize(
            [(idle, (x_ptr, y_ptr, bar, layout, HOW)), (second, (x_ptr, y_ptr, bar, layout, HOW))], [4], [24]
        )
    else:
        gl.warp_specialize(
            [
                (idle, (x_ptr, y_ptr, bar, layout, HOW)),
                (first, (x_ptr, y_ptr, bar, layout, HOW)),
                (second, (x_ptr, y_ptr, bar, layout, HOW)),
            ],
            [4, 4],
            [24, 24],
        )
    gl.store(y_ptr + 256 + i, gl.load(y_ptr + i))


@gluon.jit
def bring_rows(desc, tiles, full, empty, steps):
    for i in range(steps):
        mbarrier.wait(empty.index(i % 2), (i // 2 & 1) ^ 1)
        mbarrier.expect(full.index(i % 2), desc.block_type.nbytes)
        tma.async_copy_global_to_shared(desc, [i * 64, 0], full.index(i % 2), tiles.index(i % 2))


@gluon.jit
def double_rows(desc, tiles, full, empty, steps, HOW: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_type.shape, desc.layout)
    for i in range(steps):
        mbarrier.wait(full.index(i % 2), i // 2 & 1)
        x = tiles.index(i % 2).load(layout)
        fence_async_shared()
        mbarrier.arrive(empty.index(i % 2), count=1)
        tma.store_wait(0)
        tile.store(x * 2)
        fence_async_shared()
        if HOW == "in place":
            tma.async_copy_shared_to_global(desc, [i * 64, 0], tile)
        else:  # over the rows that are on their way in
            tma.async_copy_shared_to_global(desc, [i * 64 + 64, 0], tile)
    tma.store_wait(0)


@gluon.jit
def double(desc, steps, HOW: gl.constexpr):
    tiles = gl.allocate_shared_memory(desc.dtype, (2, 64, 64), desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(2):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize(
        [
            (double_rows, (desc, tiles, full, empty, steps, HOW)),
            (bring_rows, (desc, tiles, full, empty, steps)),
        ],
        [1],
        [24],
    )


def met(how: str) -> tuple[torch.Tensor, torch.Tensor]:
    """What two partitions leave in x (128) and y (3 · 128) that meet in this way."""
    x, y = torch.zeros(128), torch.zeros(3 * 128)
    meet[(1,)](x, y, HOW=how)
    return x, y


def doubled(x: torch.Tensor, how: str) -> torch.Tensor:
    """x (a multiple of 64, 64), doubled in place by one partition that another brings the rows."""
    double[(1,)](described(x, [64, 64]), x.shape[0] // 64, HOW=how)
    return x
