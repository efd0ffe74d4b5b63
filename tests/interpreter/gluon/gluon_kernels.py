"""Gluon kernels for the tests: right ones, and one ring whose `FAULT` says what is wrong with it."""

# ruff: noqa: RUF005  a compiled kernel knows no starred list, an aggregate no annotation as text

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import _aggregate as aggregate

TILE = 64
TYPES = {torch.float16: gl.float16, torch.bfloat16: gl.bfloat16, torch.float32: gl.float32}


def described(x: torch.Tensor, block: list[int], padding: str = "zero") -> TensorDescriptor:
    """A descriptor with the layout that fits the block."""
    layout = gl.NVMMASharedLayout.get_default_for(block, TYPES[x.dtype])
    return TensorDescriptor.from_tensor(x, block, layout, padding)


@gluon.jit
def scaled_rows(x_ptr, y_ptr, rows, columns, stride, factor, R: gl.constexpr, C: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    i = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, layout))
    j = gl.arange(0, C, gl.SliceLayout(0, layout))
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    x = gl.load(x_ptr + i[:, None] * stride + j[None, :], mask=inside, other=0.0)
    total = gl.sum(x, axis=1)
    gl.store(y_ptr + i, gl.where(total > 0, total * factor, 0.0), mask=i < rows)


@gluon.jit
def copy_tiles(x_desc, y_desc, FAULT: gl.constexpr = ""):
    row = gl.program_id(0) * x_desc.block_type.shape[0]
    tile = gl.allocate_shared_memory(x_desc.dtype, x_desc.block_type.shape, x_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    if FAULT != "no init":
        mbarrier.init(bar, count=1)
    mbarrier.expect(bar, x_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(x_desc, [row, 0], bar, tile)
    if FAULT != "no wait":
        mbarrier.wait(bar, 0)
    if FAULT == "invalidated":
        mbarrier.invalidate(bar)
        mbarrier.wait(bar, 0)
    tma.async_copy_shared_to_global(y_desc, [row, 0], tile)
    if FAULT != "no store wait":
        tma.store_wait(0)


@gluon.jit
def fill(a_desc, b_desc, a_tiles, b_tiles, full, empty, m, n, K, FAULT: gl.constexpr):
    STEP: gl.constexpr = a_desc.block_type.shape[1]
    STAGES: gl.constexpr = a_tiles.type.shape[0]
    size: gl.constexpr = a_desc.block_type.nbytes + b_desc.block_type.nbytes
    for i in range(gl.cdiv(K, STEP)):
        s = i % STAGES
        if FAULT == "no such buffer":
            s = i % (STAGES + 1)
        parity = (i // STAGES & 1) ^ 1
        if FAULT == "first parity":
            parity = i // STAGES & 1
        if FAULT != "no wait for empty":
            mbarrier.wait(empty.index(s), parity)
        if FAULT == "too few bytes":
            mbarrier.expect(full.index(s), a_desc.block_type.nbytes)
        elif FAULT == "too many bytes":
            mbarrier.expect(full.index(s), size + 16)
        elif FAULT == "arrive for expect":
            mbarrier.arrive(full.index(s), count=1)
        elif FAULT != "no expect":
            mbarrier.expect(full.index(s), size)
        tma.async_copy_global_to_shared(a_desc, [m, i * STEP], full.index(s), a_tiles.index(s))
        tma.async_copy_global_to_shared(b_desc, [i * STEP, n], full.index(s), b_tiles.index(s))


@gluon.jit
def multiply(c_desc, a_tiles, b_tiles, full, empty, m, n, steps, FAULT: gl.constexpr):
    BM: gl.constexpr = c_desc.block_type.shape[0]
    BN: gl.constexpr = c_desc.block_type.shape[1]
    STAGES: gl.constexpr = a_tiles.type.shape[0]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    acc = gl.zeros([BM, BN], gl.float32, layout)
    for i in range(steps):
        s = i % STAGES
        parity = i // STAGES & 1
        if FAULT == "parity never changes":
            parity = 0
        if FAULT == "parity is the other":
            parity = (i // STAGES & 1) ^ 1
        if FAULT != "no wait for full":
            mbarrier.wait(full.index(s), parity)
        if FAULT == "arrives before the product":
            mbarrier.arrive(empty.index(s), count=1)
        acc = warpgroup_mma(a_tiles.index(s), b_tiles.index(s), acc, is_async=True)
        if FAULT == "one product left":
            acc = warpgroup_mma_wait(1, deps=[acc])
        elif FAULT != "no wait for the product":
            acc = warpgroup_mma_wait(0, deps=[acc])
        if FAULT == "arrives twice":
            mbarrier.arrive(empty.index(s), count=1)
        if FAULT == "arrives with 2":
            mbarrier.arrive(empty.index(s), count=2)
        elif FAULT != "never arrives" and FAULT != "arrives before the product":
            mbarrier.arrive(empty.index(s), count=1)
    if FAULT == "one product left at the end":
        acc = warpgroup_mma(a_tiles.index(0), b_tiles.index(0), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
    if FAULT == "token used":
        acc = warpgroup_mma(a_tiles.index(0), b_tiles.index(0), acc, is_async=True)
    c_tile = gl.allocate_shared_memory(c_desc.dtype, [BM, BN], c_desc.layout)
    c_tile.store(acc.to(c_desc.dtype))
    if FAULT != "no fence":
        fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [m, n], c_tile)
    if FAULT == "stored again":
        c_tile.store(acc.to(c_desc.dtype))
    if FAULT != "no store wait":
        tma.store_wait(0)


@gluon.jit
def matmul(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr, REGISTERS: gl.constexpr, FAULT: gl.constexpr):
    m = gl.program_id(0) * c_desc.block_type.shape[0]
    n = gl.program_id(1) * c_desc.block_type.shape[1]
    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=2 if FAULT == "counts 2" else 1)
    steps = gl.cdiv(K, a_desc.block_type.shape[1])
    gl.warp_specialize(
        [
            (multiply, (c_desc, a_tiles, b_tiles, full, empty, m, n, steps, FAULT)),
            (fill, (a_desc, b_desc, a_tiles, b_tiles, full, empty, m, n, K, FAULT)),
        ],
        [1],
        [REGISTERS],
    )


def product(
    a: torch.Tensor, b: torch.Tensor, fault: str = "", stages: int = 2, registers: int = 24
) -> torch.Tensor:
    """`a @ b` by the specialised kernel, with a fault if it is named."""
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(c.shape[0], TILE), triton.cdiv(c.shape[1], TILE))
    descriptors = (described(x, [TILE, TILE]) for x in (a, b, c))
    matmul[grid](*descriptors, a.shape[1], STAGES=stages, REGISTERS=registers, FAULT=fault)
    return c


@gluon.jit
def hand_over(buffer, bar, y_ptr, layout: gl.constexpr, FAULT: gl.constexpr):
    if FAULT != "no wait":
        mbarrier.wait(bar, 0)
    i = gl.arange(0, 128, layout)
    gl.store(y_ptr + i, buffer.load(layout))


@gluon.jit
def put(buffer, bar, late, layout: gl.constexpr, FAULT: gl.constexpr):
    buffer.store(gl.full([128], 7.0, gl.float32, layout))
    if FAULT == "init in a partition":
        mbarrier.init(late, count=1)
    mbarrier.arrive(bar, count=1)
    if FAULT == "two writers":
        buffer.store(gl.full([128], 8.0, gl.float32, layout))


@gluon.jit
def also(buffer, bar, late, layout: gl.constexpr, FAULT: gl.constexpr):
    if FAULT == "two writers":
        buffer.store(gl.full([128], 9.0, gl.float32, layout))
    if FAULT == "init in a partition":
        mbarrier.arrive(late, count=1)


@gluon.jit
def exchange(y_ptr, FAULT: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffer = gl.allocate_shared_memory(gl.float32, [128], flat)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    late = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    gl.warp_specialize(
        [
            (hand_over, (buffer, bar, y_ptr, layout, FAULT)),
            (put, (buffer, bar, late, layout, FAULT)),
            (also, (buffer, bar, late, layout, FAULT)),
        ],
        [4, 4],
        [24, 24],
    )


@aggregate
class Ring:
    """Buffers with their barriers; the jitted methods bind to their object, as compiled."""

    tiles: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    stages: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, tiles, full, empty, stages):
        self.tiles = tiles
        self.full = full
        self.empty = empty
        self.stages = gl.constexpr(stages)

    @gluon.jit
    def create(desc, stages: gl.constexpr):
        tiles = gl.allocate_shared_memory(desc.dtype, [stages] + desc.block_type.shape, desc.layout)
        full = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
        empty = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
        for s in gl.static_range(stages):
            mbarrier.init(full.index(s), count=1)
            mbarrier.init(empty.index(s), count=1)
        return Ring(tiles, full, empty, stages)

    @gluon.jit
    def fill(self, desc, at, i):
        s = i % self.stages
        mbarrier.wait(self.empty.index(s), (i // self.stages & 1) ^ 1)
        mbarrier.expect(self.full.index(s), desc.block_type.nbytes)
        tma.async_copy_global_to_shared(desc, at, self.full.index(s), self.tiles.index(s))

    @gluon.jit
    def take(self, i):
        mbarrier.wait(self.full.index(i % self.stages), i // self.stages & 1)
        return self.tiles.index(i % self.stages)

    @gluon.jit
    def give_back(self, i):
        mbarrier.arrive(self.empty.index(i % self.stages), count=1)


@gluon.jit
def attend(
    q_tile, q_bar, o_desc, keys, values, row, S, scale, BM: gl.constexpr, BN: gl.constexpr, D: gl.constexpr
):
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    rows: gl.constexpr = gl.SliceLayout(1, s_layout)
    m = gl.full([BM], -float("inf"), gl.float32, rows)
    total = gl.full([BM], 0.0, gl.float32, rows)
    acc = gl.zeros([BM, D], gl.float32, o_layout)
    mbarrier.wait(q_bar, 0)
    for i in range(gl.cdiv(S, BN)):
        k = keys.take(i)
        zeros = gl.zeros([BM, BN], gl.float32, s_layout)
        s = warpgroup_mma(q_tile, k.permute([1, 0]), zeros, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(0, deps=[s])
        keys.give_back(i)
        columns = i * BN + gl.arange(0, BN, gl.SliceLayout(0, s_layout))
        s = gl.where((columns < S)[None, :], s * scale, -float("inf"))
        highest = gl.maximum(m, gl.max(s, axis=1))
        p = gl.exp2(s - highest[:, None])
        rescale = gl.exp2(m - highest)
        total = total * rescale + gl.sum(p, axis=1)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, o_layout))[:, None]
        v = values.take(i)
        left = gl.convert_layout(p.to(v.dtype), gl.DotOperandLayout(0, o_layout, 2))
        acc = warpgroup_mma(left, v, acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        values.give_back(i)
        m = highest
    o = acc / gl.convert_layout(total, gl.SliceLayout(1, o_layout))[:, None]
    o_tile = gl.allocate_shared_memory(o_desc.dtype, [BM, D], o_desc.layout)
    o_tile.store(o.to(o_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [row, 0], o_tile)
    tma.store_wait(0)


@gluon.jit
def fetch(q_desc, k_desc, v_desc, q_tile, q_bar, keys, values, row, S, BN: gl.constexpr):
    mbarrier.expect(q_bar, q_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(q_desc, [row, 0], q_bar, q_tile)
    for i in range(gl.cdiv(S, BN)):
        keys.fill(k_desc, [i * BN, 0], i)
        values.fill(v_desc, [i * BN, 0], i)


@gluon.jit
def attention(q_desc, k_desc, v_desc, o_desc, S, scale, STAGES: gl.constexpr):
    BM: gl.constexpr = q_desc.block_type.shape[0]
    BN: gl.constexpr = k_desc.block_type.shape[0]
    D: gl.constexpr = q_desc.block_type.shape[1]
    row = gl.program_id(0) * BM
    q_tile = gl.allocate_shared_memory(q_desc.dtype, [BM, D], q_desc.layout)
    q_bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(q_bar, count=1)
    keys = Ring.create(k_desc, STAGES)
    values = Ring.create(v_desc, STAGES)
    gl.warp_specialize(
        [
            (attend, (q_tile, q_bar, o_desc, keys, values, row, S, scale, BM, BN, D)),
            (fetch, (q_desc, k_desc, v_desc, q_tile, q_bar, keys, values, row, S, BN)),
        ],
        [1],
        [24],
    )


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, stages: int = 2) -> torch.Tensor:
    """One head of attention: q (S_q, D), k and v (S_k, D)."""
    o = torch.empty_like(q)
    scale = q.shape[1] ** -0.5 * 1.4426950408889634
    descriptors = (described(x, [TILE, q.shape[1]]) for x in (q, k, v, o))
    attention[(triton.cdiv(q.shape[0], TILE),)](*descriptors, k.shape[0], scale, STAGES=stages)
    return o


@gluon.jit
def turn_for_ever(x_ptr):
    x = gl.load(x_ptr)
    while x >= 0:
        x = x * 1


@gluon.jit
def do_nothing(x_ptr):
    gl.store(x_ptr + 1, 1.0)


@gluon.jit
def endless(x_ptr, WORKER: gl.constexpr):
    if WORKER:
        gl.warp_specialize([(do_nothing, (x_ptr,)), (turn_for_ever, (x_ptr,))], [1], [24])
    else:
        gl.warp_specialize([(turn_for_ever, (x_ptr,)), (do_nothing, (x_ptr,))], [1], [24])


@gluon.jit
def stores_a_product(a_desc, c_desc):
    tile = gl.allocate_shared_memory(a_desc.dtype, [64, 64], a_desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    out = gl.allocate_shared_memory(gl.float32, [64, 64], c_desc.layout)
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, a_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(a_desc, [0, 0], bar, tile)
    mbarrier.wait(bar, 0)
    acc = gl.zeros([64, 64], gl.float32, gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
    acc = warpgroup_mma(tile, tile, acc, is_async=True)
    out.store(acc)


@gluon.jit
def expects_afterwards(src, dst, SIZE: gl.constexpr):
    tile = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)
    tma.async_copy_global_to_shared(src, [0, 0], full, tile)
    mbarrier.expect(full, SIZE)
    mbarrier.wait(full, 0)
    tma.async_copy_shared_to_global(dst, [0, 0], tile)
    tma.store_wait(0)
