"""Answers to tma_copy and tma_ring: right ones in several styles, and slips."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_13_hopper.answers.gluon_preamble import GLUON

PERSISTENT = (
    GLUON
    + """
@gluon.jit
def walk(src, dst, across, tiles):
    buf = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    phase = 0
    for t in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row = t // across * src.block_type.shape[0]
        col = t % across * src.block_type.shape[1]
        mbarrier.expect(bar, src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [row, col], bar, buf)
        mbarrier.wait(bar, phase)
        tma.async_copy_shared_to_global(dst, [row, col], buf)
        tma.store_wait(0)
        phase = phase ^ 1


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    across = triton.cdiv(x.shape[1], 32)
    tiles = triton.cdiv(x.shape[0], 16) * across
    walk[(3,)](describe(src, [16, 32]), describe(dst, [16, 32]), across, tiles, num_warps=4)
    return dst
"""
)
LATE_EXPECT = (
    GLUON
    + """
@gluon.jit
def one(src, dst):
    at = [gl.program_id(1) * 32, gl.program_id(0) * 128]
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    buf = gl.allocate_shared_memory(src.dtype, [32, 128], src.layout)
    tma.async_copy_global_to_shared(src, at, bar, buf)
    mbarrier.expect(bar, src.block_type.nbytes)
    mbarrier.wait(bar, 0)
    tma.async_copy_shared_to_global(dst, at, buf)
    tma.store_wait(0)


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    one[(triton.cdiv(x.shape[1], 128), triton.cdiv(x.shape[0], 32))](describe(src, [32, 128]), describe(dst, [32, 128]), num_warps=4)
    return dst
"""
)
THROUGH_REGISTERS = (
    GLUON
    + """
@gluon.jit
def through(src, dst):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [4, 1], [1, 0])
    at = [gl.program_id(0) * 64, gl.program_id(1) * 64]
    came = gl.allocate_shared_memory(src.dtype, [64, 64], src.layout)
    goes = gl.allocate_shared_memory(dst.dtype, [64, 64], dst.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.block_type.nbytes)
    tma.async_copy_global_to_shared(src, at, bar, came)
    mbarrier.wait(bar, 0)
    goes.store(came.load(layout))
    fence_async_shared()
    tma.async_copy_shared_to_global(dst, at, goes)
    tma.store_wait(0)
    mbarrier.invalidate(bar)


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    through[(triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))](describe(src, [64, 64]), describe(dst, [64, 64]), num_warps=4)
    return dst
"""
)
HALVES = (
    GLUON
    + """
@gluon.jit
def halves(src, dst):
    top = gl.program_id(0) * 64
    col = gl.program_id(1) * 64
    both = gl.allocate_shared_memory(src.dtype, [2, 32, 64], src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, 2 * src.block_type.nbytes)
    for h in gl.static_range(2):
        tma.async_copy_global_to_shared(src, [top + 32 * h, col], bar, both.index(h))
    mbarrier.wait(bar, 0)
    for h in gl.static_range(2):
        tma.async_copy_shared_to_global(dst, [top + 32 * h, col], both.index(h))
    tma.store_wait(0)


def tma_copy(x):
    src = padded(x)
    dst = padded(torch.empty_like(src))
    halves[(triton.cdiv(x.shape[0], 64), triton.cdiv(x.shape[1], 64))](describe(src, [32, 64]), describe(dst, [32, 64]), num_warps=1)
    return dst
"""
)
POINTERS_OUT = (
    GLUON
    + """
@gluon.jit
def out_by_pointers(src, dst, M, N, stride):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    row = gl.program_id(0) * 16
    col = gl.program_id(1) * 32
    buf = gl.allocate_shared_memory(src.dtype, [16, 32], src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=2)
    mbarrier.expect(bar, src.block_type.nbytes)
    mbarrier.arrive(bar, count=1)
    tma.async_copy_global_to_shared(src, [row, col], bar, buf)
    mbarrier.wait(bar, 0)
    v = buf.load(layout)
    i = row + gl.arange(0, 16, gl.SliceLayout(1, layout))
    j = col + gl.arange(0, 32, gl.SliceLayout(0, layout))
    gl.store(dst + i[:, None] * stride + j[None, :], v, mask=(i < M)[:, None] & (j < N)[None, :])


def tma_copy(x):
    src = padded(x)
    dst = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    out_by_pointers[(triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 32))](describe(src, [16, 32]), dst, x.shape[0], x.shape[1], dst.stride(0), num_warps=4)
    return dst
"""
)

for _style, _text in {
    "few programs walk over all tiles": PERSISTENT,
    "expects behind the copy, columns first in the grid": LATE_EXPECT,
    "through registers, with a fence": THROUGH_REGISTERS,
    "two copies to one barrier": HALVES,
    "two arrivals; ordinary stores at the end": POINTERS_OUT,
}.items():
    right("tma_copy", _style)(written(_text))


def slip(exercise: str, base: str, says: str, *names: str, edits: tuple) -> None:
    """A right answer with a few places changed."""
    wrong(exercise, says, *names, title=says)(edited(base, *edits))


slip(
    "tma_copy",
    PERSISTENT,
    "The phase never turns.",
    "phase is off",
    edits=(("phase = phase ^ 1", "phase = 0"),),
)
slip(
    "tma_copy",
    PERSISTENT,
    "Stores are not waited for before the buffer is filled again.",
    "tma store not waited for",
    "tma store never waited for",
    edits=(("        tma.store_wait(0)\n", ""),),
)
slip(
    "tma_copy",
    PERSISTENT,
    "Rows and columns of the copy out are exchanged.",
    "row and column exchanged",
    "race",
    edits=(("dst, [row, col], buf", "dst, [col, row], buf"),),
)
slip(
    "tma_copy",
    LATE_EXPECT,
    "Nothing is waited for.",
    "copy not waited for",
    "the tile is not waited for",
    edits=(("    mbarrier.wait(bar, 0)\n", ""),),
)
slip(
    "tma_copy",
    LATE_EXPECT,
    "The bytes are counted in elements.",
    "bytes",
    "elements counted for bytes",
    edits=(("mbarrier.expect(bar, src.block_type.nbytes)", "mbarrier.expect(bar, 32 * 128)"),),
)
slip(
    "tma_copy",
    THROUGH_REGISTERS,
    "No fence between the stores and the copy out.",
    "no fence",
    edits=(("    fence_async_shared()\n", ""),),
)
slip(
    "tma_copy",
    THROUGH_REGISTERS,
    "The end does not wait for the copy out.",
    "tma store never waited for",
    "the copy out is not waited for",
    edits=(("    tma.store_wait(0)\n", ""),),
)
slip(
    "tma_copy",
    HALVES,
    "The bytes of one half are expected.",
    "bytes",
    "elements counted for bytes",
    edits=(("2 * src.block_type.nbytes", "src.block_type.nbytes"),),
)
slip(
    "tma_copy",
    HALVES,
    "The second half comes from the first's rows.",
    "shifted",
    "some rows",
    edits=(("src, [top + 32 * h, col]", "src, [top, col]"),),
)
slip(
    "tma_copy",
    POINTERS_OUT,
    "Two arrivals are counted, one comes.",
    "deadlock",
    "one arrival too many is awaited",
    edits=(("    mbarrier.arrive(bar, count=1)\n", ""),),
)
slip(
    "tma_copy",
    POINTERS_OUT,
    "The stores have no mask.",
    "out_of_bounds",
    edits=((", mask=(i < M)[:, None] & (j < N)[None, :]", ""),),
)

REFILL_BEHIND = (
    GLUON
    + """
@gluon.jit
def refill(src, y, M, N, S: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * 16
    n = (N + 63) // 64
    buf = gl.allocate_shared_memory(src.dtype, [S, 16, 64], src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(bar.index(s), count=1)
    for s in gl.static_range(S):
        mbarrier.expect(bar.index(s), src.block_type.nbytes, pred=s < n)
        tma.async_copy_global_to_shared(src, [row, 64 * s], bar.index(s), buf.index(s), pred=s < n)
    acc = gl.zeros([16], gl.float32, layout=gl.SliceLayout(1, layout))
    s = 0
    phase = 0
    for i in range(n):
        mbarrier.wait(bar.index(s), phase)
        v = buf.index(s).load(layout)
        mbarrier.expect(bar.index(s), src.block_type.nbytes, pred=i + S < n)
        tma.async_copy_global_to_shared(src, [row, 64 * (i + S)], bar.index(s), buf.index(s), pred=i + S < n)
        acc += gl.sum(v.to(gl.float32), axis=1)
        s += 1
        phase = gl.where(s == S, phase ^ 1, phase)
        s = gl.where(s == S, 0, s)
    at = row + gl.arange(0, 16, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    refill[(triton.cdiv(x.shape[0], 16),)](describe(src, [16, 64]), y, x.shape[0], x.shape[1], S=4, num_warps=4)
    return y
"""
)
ONE_SLOT = (
    GLUON
    + """
@gluon.jit
def slow(src, y, M, N):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    row = gl.program_id(0) * 32
    buf = gl.allocate_shared_memory(src.dtype, [32, 32], src.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    acc = gl.zeros([32, 32], gl.float32, layout=layout)
    for i in range(gl.cdiv(N, 32)):
        mbarrier.expect(bar, src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [row, 32 * i], bar, buf)
        mbarrier.wait(bar, i & 1)
        acc += buf.load(layout).to(gl.float32)
    at = row + gl.arange(0, 32, gl.SliceLayout(1, layout))
    gl.store(y + at, gl.sum(acc, axis=1), mask=at < M)


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    slow[(triton.cdiv(x.shape[0], 32),)](describe(src, [32, 32]), y, x.shape[0], x.shape[1], num_warps=4)
    return y
"""
)
TWO_SIDES = (
    GLUON
    + """
@gluon.jit
def bring(src, buf, full, empty, n, S: gl.constexpr):
    for i in range(n):
        mbarrier.wait(empty.index(i % S), (i // S & 1) ^ 1)
        mbarrier.expect(full.index(i % S), src.block_type.nbytes)
        tma.async_copy_global_to_shared(src, [gl.program_id(0) * 32, 64 * i], full.index(i % S), buf.index(i % S))


@gluon.jit
def add(y, buf, full, empty, M, n, S: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    acc = gl.zeros([32], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(n):
        mbarrier.wait(full.index(i % S), i // S & 1)
        v = buf.index(i % S).load(layout)
        mbarrier.arrive(empty.index(i % S), count=1)
        acc += gl.sum(v.to(gl.float32), axis=1)
    at = gl.program_id(0) * 32 + gl.arange(0, 32, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


@gluon.jit
def divided(src, y, M, n, S: gl.constexpr):
    buf = gl.allocate_shared_memory(src.dtype, [S, 32, 64], src.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    gl.warp_specialize([(add, (y, buf, full, empty, M, n, S)), (bring, (src, buf, full, empty, n, S))], [1], [24])


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    divided[(triton.cdiv(x.shape[0], 32),)](describe(src, [32, 64]), y, x.shape[0], triton.cdiv(x.shape[1], 64), S=2, num_warps=4)
    return y
"""
)
WHILE = (
    GLUON
    + """
@gluon.jit
def ask(src, row, i, n, bars, bufs, S: gl.constexpr):
    mbarrier.expect(bars.index(i % S), src.block_type.nbytes, pred=i < n)
    tma.async_copy_global_to_shared(src, [row, i * 32], bars.index(i % S), bufs.index(i % S), pred=i < n)


@gluon.jit
def with_while(src, y, M, N):
    S: gl.constexpr = 5
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    row = gl.program_id(0) * 64
    n = gl.cdiv(N, 32)
    bufs = gl.allocate_shared_memory(src.dtype, [S, 64, 32], src.layout)
    bars = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(S):
        mbarrier.init(bars.index(s), count=1)
    for s in gl.static_range(S - 1):
        ask(src, row, s, n, bars, bufs, S)
    acc = gl.zeros([64], gl.float32, layout=gl.SliceLayout(1, layout))
    i = 0
    while i < n:
        mbarrier.wait(bars.index(i % S), (i // S) % 2)
        acc = acc + gl.sum(bufs.index(i % S).load(layout).to(gl.float32), axis=1)
        ask(src, row, i + S - 1, n, bars, bufs, S)
        i += 1
    at = row + gl.arange(0, 64, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    with_while[(triton.cdiv(x.shape[0], 64),)](describe(src, [64, 32]), y, x.shape[0], x.shape[1], num_warps=4)
    return y
"""
)
FROM_THE_END = (
    GLUON
    + """
@gluon.jit
def backwards(src, y, M, N):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    row = gl.program_id(0) * 32
    n = gl.cdiv(N, 64)
    bufs = gl.allocate_shared_memory(src.dtype, [2, 32, 64], src.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(bars.index(0), count=1)
    mbarrier.init(bars.index(1), count=1)
    mbarrier.expect(bars.index(0), src.block_type.nbytes)
    tma.async_copy_global_to_shared(src, [row, 64 * (n - 1)], bars.index(0), bufs.index(0))
    acc = gl.zeros([32], gl.float32, layout=gl.SliceLayout(1, layout))
    turn = 0
    for i in range(n - 1, -1, -1):
        here = turn % 2
        there = 1 - here
        if i > 0:
            mbarrier.expect(bars.index(there), src.block_type.nbytes)
            tma.async_copy_global_to_shared(src, [row, 64 * (i - 1)], bars.index(there), bufs.index(there))
        mbarrier.wait(bars.index(here), turn // 2 & 1)
        acc += gl.sum(bufs.index(here).load(layout).to(gl.float32), axis=1)
        turn += 1
    at = row + gl.arange(0, 32, gl.SliceLayout(1, layout))
    gl.store(y + at, acc, mask=at < M)


def tma_ring(x):
    src = padded(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    backwards[(triton.cdiv(x.shape[0], 32),)](describe(src, [32, 64]), y, x.shape[0], x.shape[1], num_warps=4)
    return y
"""
)

for _style, _text in {
    "all slots at first, filled again behind the load, phase by a counter": REFILL_BEHIND,
    "a single slot, one sum at the end": ONE_SLOT,
    "a producer and a consumer": TWO_SIDES,
    "a while loop and five slots": WHILE,
    "from the last tile to the first, under an if": FROM_THE_END,
}.items():
    right("tma_ring", _style)(written(_text))

slip(
    "tma_ring",
    REFILL_BEHIND,
    "The phase never turns.",
    "phase is off",
    "the phase never turns",
    edits=(("phase = gl.where(s == S, phase ^ 1, phase)\n        ", ""),),
)
slip(
    "tma_ring",
    REFILL_BEHIND,
    "The phase turns with every tile.",
    "phase is off",
    "the phase turns with every tile",
    edits=(("gl.where(s == S, phase ^ 1, phase)", "phase ^ 1"),),
)
slip(
    "tma_ring",
    REFILL_BEHIND,
    "The slot is filled again before it is read.",
    "refilled before read",
    "filled again before it is read",
    edits=(
        ("        v = buf.index(s).load(layout)\n", ""),
        ("        acc += gl.sum(v", "        v = buf.index(s).load(layout)\n        acc += gl.sum(v"),
    ),
)
slip(
    "tma_ring",
    REFILL_BEHIND,
    "Tiles beyond the end are asked for.",
    "copy never waited for",
    "tiles beyond the end",
    edits=(("buf.index(s), pred=i + S < n)", "buf.index(s))"), ("nbytes, pred=i + S < n)", "nbytes)")),
)
slip(
    "tma_ring",
    ONE_SLOT,
    "The parity is the other one.",
    "phase is off",
    "the phase is always the other one",
    edits=(("i & 1", "i & 1 ^ 1"),),
)
slip(
    "tma_ring",
    ONE_SLOT,
    "The tile is not waited for.",
    "copy not waited for",
    "the tile is not waited for",
    edits=(("        mbarrier.wait(bar, i & 1)\n", ""),),
)
slip(
    "tma_ring",
    ONE_SLOT,
    "Every tile replaces the sum.",
    "only the last tile",
    "one edit",
    edits=(("acc += buf.load", "acc = buf.load"),),
)
slip(
    "tma_ring",
    ONE_SLOT,
    "Sums are kept in the input's dtype.",
    "precision",
    "one edit",
    edits=(
        ("gl.zeros([32, 32], gl.float32, layout=layout)", "gl.zeros([32, 32], src.dtype, layout=layout)"),
        (".to(gl.float32)\n    at", "\n    at"),
    ),
)
slip(
    "tma_ring",
    TWO_SIDES,
    "The consumer never gives a slot back.",
    "deadlock",
    edits=(("        mbarrier.arrive(empty.index(i % S), count=1)\n", ""),),
)
slip(
    "tma_ring",
    TWO_SIDES,
    "The slot is given back before it is read.",
    "overwritten",
    "unordered read",
    "copy not waited for",
    "phase is off",
    edits=(
        (
            "        v = buf.index(i % S).load(layout)\n        mbarrier.arrive(empty.index(i % S), count=1)\n",
            "        mbarrier.arrive(empty.index(i % S), count=1)\n        v = buf.index(i % S).load(layout)\n",
        ),
    ),
)
slip(
    "tma_ring",
    WHILE,
    "One tile more is asked for than there are slots.",
    "expected again",
    "one tile too many before the loop",
    "filled again while it arrives",
    edits=(("gl.static_range(S - 1)", "gl.static_range(S)"),),
)
slip(
    "tma_ring",
    WHILE,
    "One tile is never asked for.",
    "deadlock",
    "one tile too few before the loop",
    edits=(("gl.static_range(S - 1)", "gl.static_range(S - 2)"),),
)
slip(
    "tma_ring",
    FROM_THE_END,
    "Slot and turn are exchanged in the wait.",
    "phase is off",
    "copy not waited for",
    "deadlock",
    "slot and phase exchanged",
    edits=(
        ("mbarrier.wait(bars.index(here), turn // 2 & 1)", "mbarrier.wait(bars.index(turn // 2 & 1), here)"),
    ),
)
slip(
    "tma_ring",
    FROM_THE_END,
    "The first tile is left out.",
    "the first tile is left out",
    "copy never waited for",
    edits=(("range(n - 1, -1, -1)", "range(n - 1, 0, -1)"), ("if i > 0:", "if i > 1:")),
)
