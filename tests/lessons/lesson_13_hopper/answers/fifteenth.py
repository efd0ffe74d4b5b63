"""Answers to lesson 13, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "tma_copy",
    "the first `tma.store_wait(0)` stands where the barrier has to be waited for: it waits for "
    "stores only, so the tile is copied out before the load has arrived.",
    "the tile is not waited for",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_copy_kernel(x_desc, y_desc):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    corner = [gl.program_id(0) * rows, gl.program_id(1) * columns]
    tile = gl.allocate_shared_memory(x_desc.dtype, [rows, columns], x_desc.layout)
    arrived = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.expect(arrived, x_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(x_desc, corner, arrived, tile)
    tma.store_wait(0)  # all copies so far are done
    mbarrier.invalidate(arrived)
    tma.async_copy_shared_to_global(y_desc, corner, tile)
    tma.store_wait(0)  # shared memory is given back when the program ends: the copy must have read it


def tma_copy(x: Tensor, block: tuple[int, int] = (64, 64)) -> Tensor:
    """A copy of x [M, N], of any strides; the tile is `block`. Raises ValueError if x is no matrix."""
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = complying_rows(torch.empty(x.shape, dtype=x.dtype, device=x.device))  # its last row is padded as well
    grid = (triton.cdiv(x.shape[0], block[0]), triton.cdiv(x.shape[1], block[1]))
    tma_copy_kernel[grid](tiles_of(x, list(block)), tiles_of(y, list(block)), num_warps=1)
    return y
''',
        title="store wait for the load",
    )
)

wrong(
    "tma_ring",
    "with STAGES tiles asked for beforehand the copy of tile i + STAGES into slot i % STAGES "
    "stands before `part = ring.index(slot).load(layout)`: the tile is overwritten before it has "
    "been read.",
    "filled again before it is read",
)(
    written(
        """
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_ring_kernel(x_desc, y_ptr, M, N, STAGES: gl.constexpr, num_warps: gl.constexpr):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [num_warps, 1], [1, 0])
    first_row = gl.program_id(0) * rows
    tiles = gl.cdiv(N, columns)
    ring = gl.allocate_shared_memory(x_desc.dtype, [STAGES, rows, columns], x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
    for slot in gl.static_range(STAGES):  # the whole ring is on its way
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=slot < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, slot * columns], full.index(slot), ring.index(slot), pred=slot < tiles
        )
    total = gl.zeros([rows], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(tiles):
        slot = i % STAGES
        later = i + STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=later < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, later * columns], full.index(slot), ring.index(slot), pred=later < tiles
        )
        part = ring.index(slot).load(layout)
        total += gl.sum(part.to(gl.float32), axis=1)
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
    out = first_row + gl.arange(0, rows, layout=gl.SliceLayout(1, layout))
    gl.store(y_ptr + out, total, mask=out < M)


def tma_ring(x: Tensor, block: tuple[int, int] = (32, 64), stages: int = 3) -> Tensor:
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(x.shape[0], block[0]),)
    tma_ring_kernel[grid](tiles_of(x, list(block)), y, *x.shape, STAGES=stages, num_warps=4)
    return y
""",
        title="slot refilled before it is read",
    )
)

wrong(
    "wgmma_matmul",
    "in fetch, b's tile is asked for at `[first_column, k]`: b is [K, N], so its coordinates are "
    "[k, first_column].",
    "b's coordinates exchanged",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of


@gluon.jit
def fetch(a_desc, b_desc, first_row, first_column, k, a_tile, b_tile, full, pred):
    # one step of K: both tiles report to one barrier, which expects the bytes of both
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    tma.async_copy_global_to_shared(a_desc, [first_row, k], full, a_tile, pred=pred)
    tma.async_copy_global_to_shared(b_desc, [first_column, k], full, b_tile, pred=pred)


@gluon.jit
def wgmma_matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr, num_warps: gl.constexpr):
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    steps = gl.cdiv(K, BLOCK_K)
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
    for i in gl.static_range(STAGES - 2):
        fetch(a_desc, b_desc, m, n, i * BLOCK_K, a.index(i), b.index(i), full.index(i), i < steps)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N, num_warps))
    for i in range(steps):
        # the product of step i - 1 may still run and reads its slot; that of step i - 2 has been waited for
        ahead = i + STAGES - 2
        at, free, k = i % STAGES, ahead % STAGES, ahead * BLOCK_K
        fetch(a_desc, b_desc, m, n, k, a.index(free), b.index(free), full.index(free), ahead < steps)
        mbarrier.wait(full.index(at), i // STAGES % 2)
        acc = warpgroup_mma(a.index(at), b.index(at), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])  # all but the newest are done
    acc = warpgroup_mma_wait(0, deps=[acc])
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
    c = gl.allocate_shared_memory(c_desc.dtype, [BLOCK_M, BLOCK_N], c_desc.layout)
    c.store(acc.to(c_desc.dtype))
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
    tma.async_copy_shared_to_global(c_desc, [m, n], c)
    tma.store_wait(0)


def wgmma_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 128, 64), stages: int = 4
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), `stages` is 3 or more.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    wgmma_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [block_m, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [block_m, block_n]), K,
        STAGES=stages, num_warps=block_m // 16 if block_m < 128 else 8,
    )
    return c
''',
        title="coordinates of b exchanged",
    )
)

wrong(
    "wgmma_matmul",
    "two faults behind the loop: the result of `warpgroup_mma_wait(0, deps=[acc])` is not "
    "assigned, so c.store takes the promise, and fence_async_shared is missing between c.store "
    "and the copy out.",
    "the sum is used too early",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of


@gluon.jit
def fetch(a_desc, b_desc, first_row, first_column, k, a_tile, b_tile, full, pred):
    # one step of K: both tiles report to one barrier, which expects the bytes of both
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    tma.async_copy_global_to_shared(a_desc, [first_row, k], full, a_tile, pred=pred)
    tma.async_copy_global_to_shared(b_desc, [k, first_column], full, b_tile, pred=pred)


@gluon.jit
def wgmma_matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr, num_warps: gl.constexpr):
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    steps = gl.cdiv(K, BLOCK_K)
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
    for i in gl.static_range(STAGES - 2):
        fetch(a_desc, b_desc, m, n, i * BLOCK_K, a.index(i), b.index(i), full.index(i), i < steps)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N, num_warps))
    for i in range(steps):
        # the product of step i - 1 may still run and reads its slot; that of step i - 2 has been waited for
        ahead = i + STAGES - 2
        at, free, k = i % STAGES, ahead % STAGES, ahead * BLOCK_K
        fetch(a_desc, b_desc, m, n, k, a.index(free), b.index(free), full.index(free), ahead < steps)
        mbarrier.wait(full.index(at), i // STAGES % 2)
        acc = warpgroup_mma(a.index(at), b.index(at), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])  # all but the newest are done
    warpgroup_mma_wait(0, deps=[acc])
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
    c = gl.allocate_shared_memory(c_desc.dtype, [BLOCK_M, BLOCK_N], c_desc.layout)
    c.store(acc.to(c_desc.dtype))
    tma.async_copy_shared_to_global(c_desc, [m, n], c)
    tma.store_wait(0)


def wgmma_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 128, 64), stages: int = 4
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), `stages` is 3 or more.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    wgmma_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [block_m, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [block_m, block_n]), K,
        STAGES=stages, num_warps=block_m // 16 if block_m < 128 else 8,
    )
    return c
''',
        title="promise stored and no fence",
    )
)

wrong(
    "specialised_matmul",
    "the consumer reads `a.index(CONSUMER * STAGES + at)`, as if a held all slots of one consumer"
    " before those of the other; the producer fills 2 * slot + consumer.",
    "never written",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of


@gluon.jit
def produce(a_desc, b_desc, a, b, full, empty, steps, STAGES: gl.constexpr):
    HALF: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * 2 * HALF, gl.program_id(1) * BLOCK_N
    for i in range(steps):
        at, phase = i % STAGES, i // STAGES % 2
        # nobody has used the slot at first: the phase before the first one counts as over, so this passes
        mbarrier.wait(empty.index(at), phase ^ 1)
        mbarrier.expect(full.index(at), 2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        for c in gl.static_range(2):
            tma.async_copy_global_to_shared(
                a_desc, [m + c * HALF, i * BLOCK_K], full.index(at), a.index(at * 2 + c)
            )
        tma.async_copy_global_to_shared(b_desc, [i * BLOCK_K, n], full.index(at), b.index(at))


@gluon.jit
def consume(c_desc, a, b, out, full, empty, steps, STAGES: gl.constexpr, CONSUMER: gl.constexpr):
    HALF: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    acc = gl.zeros([HALF, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N))
    for i in range(steps):
        at = i % STAGES
        mbarrier.wait(full.index(at), i // STAGES % 2)
        acc = warpgroup_mma(a.index(CONSUMER * STAGES + at), b.index(at), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        # the product before this one is done: its slot is free (before the first step there is none)
        mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)
    acc = warpgroup_mma_wait(0, deps=[acc])
    tile = out.index(CONSUMER)
    tile.store(acc.to(c_desc.dtype))
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
    m = (gl.program_id(0) * 2 + CONSUMER) * HALF
    tma.async_copy_shared_to_global(c_desc, [m, gl.program_id(1) * BLOCK_N], tile)
    tma.store_wait(0)


@gluon.jit
def specialised_matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr):
    HALF: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    a = gl.allocate_shared_memory(a_desc.dtype, [2 * STAGES, HALF, BLOCK_K], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    out = gl.allocate_shared_memory(c_desc.dtype, [2, HALF, BLOCK_N], c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(empty.index(slot), count=2)  # both consumers
    steps = gl.cdiv(K, BLOCK_K)
    # the first partition runs in the program's own four warps, the others in warps of their own;
    # registers per thread: 240 and 24 for the two others, what is left (240) for the first
    gl.warp_specialize(
        [
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 0)),
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 1)),
            (produce, (a_desc, b_desc, a, b, full, empty, steps, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


def specialised_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 256, 64), stages: int = 3
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), half of M per consumer.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    half = block_m // 2
    specialised_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [half, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [half, block_n]), K,
        STAGES=stages, num_warps=4,
    )
    return c
''',
        title="tiles of a by consumer first",
    )
)

wrong(
    "fa3_forward",
    "in softmax_step hidden scores become -inf before `s = s * scale`: with a negative alpha they"
    " turn into +inf (and with 0 into NaN).",
    "mask before alpha",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits


ROWS = gl.constexpr(64)  # queries of a consumer


@gluon.jit
def tile_of(sizes, CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr):
    # this program's batch entry and heads, its first query, and how many blocks of keys its last one sees
    H, H_K, S_q, S_k = sizes
    b, h = gl.program_id(1) // H, gl.program_id(1) % H
    first_row = gl.program_id(0) * 2 * ROWS
    end = S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + 2 * ROWS + S_k - S_q)
    return b, h, h // (H // H_K), first_row, gl.maximum(gl.cdiv(end, BLOCK_K), 1)  # one block at least


@gluon.jit
def bring_q_and_keys(
    q_desc, k_desc, v_desc, tiles, barriers, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):
    q, k, v = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    b, h, h_k, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    mbarrier.expect(q_full.index(0), 2 * q_desc.block_type.nbytes)
    for c in gl.static_range(2):
        tma.async_copy_global_to_shared(q_desc, [b, h, first_row + c * ROWS, 0], q_full.index(0), q.index(c))
    for i in range(blocks):
        slot, phase, start = i % STAGES, i // STAGES % 2, i * BLOCK_K
        mbarrier.wait(k_empty.index(slot), phase ^ 1)
        mbarrier.expect(k_full.index(slot), k_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(k_desc, [b, h_k, start, 0], k_full.index(slot), k.index(slot))
        mbarrier.wait(v_empty.index(slot), phase ^ 1)
        mbarrier.expect(v_full.index(slot), v_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(v_desc, [b, h_k, start, 0], v_full.index(slot), v.index(slot))


@gluon.jit
def softmax_step(s, m_i, l_i, scale, start, last_seen):
    # lesson 06's online softmax in base 2: scale is alpha · log₂ e, m_i is in its units
    columns = start + gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, s.type.layout))
    s = gl.where(columns[None, :] <= last_seen[:, None], s, -float("inf"))
    s = s * scale
    m_new = gl.maximum(m_i, gl.max(s, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
    p = gl.exp2(s - shift[:, None])
    rescale = gl.exp2(m_i - shift)
    l_i = l_i * rescale + gl.sum(p, axis=1)
    return p, m_new, l_i, rescale


@gluon.jit
def attend(
    o_desc, lse_ptr, tiles, barriers, scale, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):
    D: gl.constexpr = o_desc.block_type.shape[3]
    scores: gl.constexpr = accumulator(BLOCK_K)
    output: gl.constexpr = accumulator(D)
    q_tiles, k_ring, v_ring = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    H, _, S_q, S_k = sizes
    b, h, _, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    first_row += CONSUMER * ROWS
    rows = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, scores))
    last_seen = gl.full([ROWS], S_k - 1, gl.int32, layout=gl.SliceLayout(1, scores))
    if CAUSAL:
        last_seen = rows + S_k - S_q
    m_i = gl.full([ROWS], -float("inf"), gl.float32, layout=gl.SliceLayout(1, scores))
    l_i = gl.zeros([ROWS], gl.float32, layout=gl.SliceLayout(1, scores))
    acc = gl.zeros([ROWS, D], gl.float32, layout=output)
    nothing = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=scores)
    q = q_tiles.index(CONSUMER).reshape([ROWS, D])
    mbarrier.wait(q_full.index(0), 0)
    mbarrier.wait(k_full.index(0), 0)
    k = k_ring.index(0).reshape([BLOCK_K, D])
    s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
    s = warpgroup_mma_wait(0, deps=[s])
    mbarrier.arrive(k_empty.index(0), count=1)
    p, m_i, l_i, _ = softmax_step(s, m_i, l_i, scale, 0, last_seen)
    p = gl.convert_layout(p.to(o_desc.dtype), operand_a(output))
    for i in range(1, blocks):
        slot, before = i % STAGES, (i - 1) % STAGES
        k = k_ring.index(slot).reshape([BLOCK_K, D])
        v = v_ring.index(before).reshape([BLOCK_K, D])
        mbarrier.wait(k_full.index(slot), i // STAGES % 2)
        s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), (i - 1) // STAGES % 2)
        acc = warpgroup_mma(p, v, acc, is_async=True)
        s = warpgroup_mma_wait(1, deps=[s])  # S is here; O += P V goes on under the softmax
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, rescale = softmax_step(s, m_i, l_i, scale, i * BLOCK_K, last_seen)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(before), count=1)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, output))[:, None]
        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))
    last = (blocks - 1) % STAGES
    mbarrier.wait(v_full.index(last), (blocks - 1) // STAGES % 2)
    acc = warpgroup_mma(p, v_ring.index(last).reshape([BLOCK_K, D]), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    lse = (m_i + gl.log2(l_i)) * 0.6931471805599453  # ln 2
    o = acc * gl.convert_layout(1.0 / l_i, gl.SliceLayout(1, output))[:, None]
    gl.store(lse_ptr + (b * H + h).to(gl.int64) * S_q + rows, lse, rows < S_q)
    q.store(o.to(o_desc.dtype))  # Q is done with: its tile takes O
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [b, h, first_row, 0], q_tiles.index(CONSUMER))
    tma.store_wait(0)


@gluon.jit
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):
    D: gl.constexpr = k_desc.block_type.shape[3]
    q = gl.allocate_shared_memory(q_desc.dtype, [2, 1, 1, ROWS, D], q_desc.layout)
    k = gl.allocate_shared_memory(k_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], k_desc.layout)
    v = gl.allocate_shared_memory(v_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], v_desc.layout)
    tiles = (q, k, v)
    sizes = (H, H_K, S_q, S_k)
    q_full = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    barriers = (q_full, k_full, k_empty, v_full, v_empty)
    mbarrier.init(q_full.index(0), count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(k_empty.index(slot), count=2)  # both consumers
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(v_empty.index(slot), count=2)
    gl.warp_specialize(
        [
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 0)),
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 1)),
            (bring_q_and_keys, (q_desc, k_desc, v_desc, tiles, barriers, sizes, CAUSAL, BLOCK_K, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; D is 64 or 128, dtypes are fp16 and bf16.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_K = 128
    fa3_forward_kernel[(triton.cdiv(S_q, 128), B * H)](
        rows_of_heads(q, 64), rows_of_heads(k, BLOCK_K), rows_of_heads(v, BLOCK_K), rows_of_heads(o, 64),
        lse, alpha * LOG2_E, H, H_k, S_q, S_k, CAUSAL=causal, BLOCK_K=BLOCK_K, STAGES=2, num_warps=4,
    )
    return o, lse
''',
        title="masked before the scale",
    )
)

wrong(
    "fa3_forward",
    "the second entry of gl.warp_specialize is a copy of the first, with CONSUMER 0: queries 64 "
    "to 127 of each program are never computed, and the first 64 twice.",
    "overwritten",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits


ROWS = gl.constexpr(64)  # queries of a consumer


@gluon.jit
def tile_of(sizes, CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr):
    # this program's batch entry and heads, its first query, and how many blocks of keys its last one sees
    H, H_K, S_q, S_k = sizes
    b, h = gl.program_id(1) // H, gl.program_id(1) % H
    first_row = gl.program_id(0) * 2 * ROWS
    end = S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + 2 * ROWS + S_k - S_q)
    return b, h, h // (H // H_K), first_row, gl.maximum(gl.cdiv(end, BLOCK_K), 1)  # one block at least


@gluon.jit
def bring_q_and_keys(
    q_desc, k_desc, v_desc, tiles, barriers, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):
    q, k, v = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    b, h, h_k, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    mbarrier.expect(q_full.index(0), 2 * q_desc.block_type.nbytes)
    for c in gl.static_range(2):
        tma.async_copy_global_to_shared(q_desc, [b, h, first_row + c * ROWS, 0], q_full.index(0), q.index(c))
    for i in range(blocks):
        slot, phase, start = i % STAGES, i // STAGES % 2, i * BLOCK_K
        mbarrier.wait(k_empty.index(slot), phase ^ 1)
        mbarrier.expect(k_full.index(slot), k_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(k_desc, [b, h_k, start, 0], k_full.index(slot), k.index(slot))
        mbarrier.wait(v_empty.index(slot), phase ^ 1)
        mbarrier.expect(v_full.index(slot), v_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(v_desc, [b, h_k, start, 0], v_full.index(slot), v.index(slot))


@gluon.jit
def softmax_step(s, m_i, l_i, scale, start, last_seen):
    # lesson 06's online softmax in base 2: scale is alpha · log₂ e, m_i is in its units
    columns = start + gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, s.type.layout))
    s = gl.where(columns[None, :] <= last_seen[:, None], s * scale, -float("inf"))
    m_new = gl.maximum(m_i, gl.max(s, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
    p = gl.exp2(s - shift[:, None])
    rescale = gl.exp2(m_i - shift)
    l_i = l_i * rescale + gl.sum(p, axis=1)
    return p, m_new, l_i, rescale


@gluon.jit
def attend(
    o_desc, lse_ptr, tiles, barriers, scale, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):
    D: gl.constexpr = o_desc.block_type.shape[3]
    scores: gl.constexpr = accumulator(BLOCK_K)
    output: gl.constexpr = accumulator(D)
    q_tiles, k_ring, v_ring = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    H, _, S_q, S_k = sizes
    b, h, _, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    first_row += CONSUMER * ROWS
    rows = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, scores))
    last_seen = gl.full([ROWS], S_k - 1, gl.int32, layout=gl.SliceLayout(1, scores))
    if CAUSAL:
        last_seen = rows + S_k - S_q
    m_i = gl.full([ROWS], -float("inf"), gl.float32, layout=gl.SliceLayout(1, scores))
    l_i = gl.zeros([ROWS], gl.float32, layout=gl.SliceLayout(1, scores))
    acc = gl.zeros([ROWS, D], gl.float32, layout=output)
    nothing = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=scores)
    q = q_tiles.index(CONSUMER).reshape([ROWS, D])
    mbarrier.wait(q_full.index(0), 0)
    mbarrier.wait(k_full.index(0), 0)
    k = k_ring.index(0).reshape([BLOCK_K, D])
    s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
    s = warpgroup_mma_wait(0, deps=[s])
    mbarrier.arrive(k_empty.index(0), count=1)
    p, m_i, l_i, _ = softmax_step(s, m_i, l_i, scale, 0, last_seen)
    p = gl.convert_layout(p.to(o_desc.dtype), operand_a(output))
    for i in range(1, blocks):
        slot, before = i % STAGES, (i - 1) % STAGES
        k = k_ring.index(slot).reshape([BLOCK_K, D])
        v = v_ring.index(before).reshape([BLOCK_K, D])
        mbarrier.wait(k_full.index(slot), i // STAGES % 2)
        s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), (i - 1) // STAGES % 2)
        acc = warpgroup_mma(p, v, acc, is_async=True)
        s = warpgroup_mma_wait(1, deps=[s])  # S is here; O += P V goes on under the softmax
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, rescale = softmax_step(s, m_i, l_i, scale, i * BLOCK_K, last_seen)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(before), count=1)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, output))[:, None]
        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))
    last = (blocks - 1) % STAGES
    mbarrier.wait(v_full.index(last), (blocks - 1) // STAGES % 2)
    acc = warpgroup_mma(p, v_ring.index(last).reshape([BLOCK_K, D]), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    lse = (m_i + gl.log2(l_i)) * 0.6931471805599453  # ln 2
    o = acc * gl.convert_layout(1.0 / l_i, gl.SliceLayout(1, output))[:, None]
    gl.store(lse_ptr + (b * H + h).to(gl.int64) * S_q + rows, lse, rows < S_q)
    q.store(o.to(o_desc.dtype))  # Q is done with: its tile takes O
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [b, h, first_row, 0], q_tiles.index(CONSUMER))
    tma.store_wait(0)


@gluon.jit
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):
    D: gl.constexpr = k_desc.block_type.shape[3]
    q = gl.allocate_shared_memory(q_desc.dtype, [2, 1, 1, ROWS, D], q_desc.layout)
    k = gl.allocate_shared_memory(k_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], k_desc.layout)
    v = gl.allocate_shared_memory(v_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], v_desc.layout)
    tiles = (q, k, v)
    sizes = (H, H_K, S_q, S_k)
    q_full = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    barriers = (q_full, k_full, k_empty, v_full, v_empty)
    mbarrier.init(q_full.index(0), count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(k_empty.index(slot), count=2)  # both consumers
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(v_empty.index(slot), count=2)
    gl.warp_specialize(
        [
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 0)),
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 0)),
            (bring_q_and_keys, (q_desc, k_desc, v_desc, tiles, barriers, sizes, CAUSAL, BLOCK_K, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; D is 64 or 128, dtypes are fp16 and bf16.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_K = 128
    fa3_forward_kernel[(triton.cdiv(S_q, 128), B * H)](
        rows_of_heads(q, 64), rows_of_heads(k, BLOCK_K), rows_of_heads(v, BLOCK_K), rows_of_heads(o, 64),
        lse, alpha * LOG2_E, H, H_k, S_q, S_k, CAUSAL=causal, BLOCK_K=BLOCK_K, STAGES=2, num_warps=4,
    )
    return o, lse
''',
        title="second consumer is the first",
    )
)

wrong(
    "fa3_backward",
    "`warpgroup_mma(ds_tile, k, dq, ...)` takes dS transposed, [keys, queries], as it was stored:"
    " without permute([1, 0]) dQ sums over queries, which 64 by 64 tiles do not refuse.",
    "one edit",
)(
    written(
        '''
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, tiles_of
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global


KEYS = gl.constexpr(64)  # of a consumer
QUERIES = gl.constexpr(64)  # of a block
STAGES = gl.constexpr(2)
LOG2_E = gl.constexpr(1.4426950408889634)


@gluon.jit
def send_queries(descriptors, tiles, barriers, b, h, key, first, last):
    # the producer: K and V of both consumers once, then Q and dO block by block through two slots
    q_desc, k_desc, v_desc, do_desc = descriptors
    k_tiles, v_tiles, q_ring, do_ring = tiles
    kv_full, full, empty = barriers
    mbarrier.expect(kv_full, 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
    for c in gl.static_range(2):
        tma.async_copy_global_to_shared(k_desc, [b, h, key + c * KEYS, 0], kv_full, k_tiles.index(c))
        tma.async_copy_global_to_shared(v_desc, [b, h, key + c * KEYS, 0], kv_full, v_tiles.index(c))
    for i in range(first, last):
        at, phase = (i - first) % STAGES, (i - first) // STAGES % 2
        mbarrier.wait(empty.index(at), phase ^ 1)
        mbarrier.expect(full.index(at), q_desc.block_type.nbytes + do_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [b, h, i * QUERIES, 0], full.index(at), q_ring.index(at))
        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))


@gluon.jit
def own_keys(
    outputs, tiles, ds_tiles, dq_tiles, barriers, lse_ptr, delta_ptr, alpha, sizes, b, h, key, first, last,
    CAUSAL: gl.constexpr, CONSUMER: gl.constexpr,
):
    # a consumer: dK and dV of 64 keys in registers, dQ of each block into the sum
    dq_desc, dk_desc, dv_desc = outputs
    k_tiles, v_tiles, q_ring, do_ring = tiles
    kv_full, full, empty = barriers
    S_q, S_k, row = sizes  # row: where this head begins in LSE, delta and the sum of dQ
    D: gl.constexpr = dk_desc.block_type.shape[3]
    product: gl.constexpr = accumulator(QUERIES)  # of Sᵀ, Pᵀ, dPᵀ, dSᵀ: 64 keys × 64 queries
    left: gl.constexpr = operand_a(accumulator(D))
    key += CONSUMER * KEYS
    keys = key + gl.arange(0, KEYS, gl.SliceLayout(1, product))
    k = k_tiles.index(CONSUMER).reshape([KEYS, D])
    v = v_tiles.index(CONSUMER).reshape([KEYS, D])
    ds_tile, dq_tile = ds_tiles.index(CONSUMER), dq_tiles.index(CONSUMER)
    dk = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    dv = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    mbarrier.wait(kv_full, 0)
    for i in range(first, last):
        at, phase = (i - first) % STAGES, (i - first) // STAGES % 2
        queries = i * QUERIES + gl.arange(0, QUERIES, gl.SliceLayout(0, product))
        lse = gl.load(lse_ptr + row + queries)  # +inf where there is no query, or one that sees no key
        delta = gl.load(delta_ptr + row + queries)
        q = q_ring.index(at).reshape([QUERIES, D])
        do = do_ring.index(at).reshape([QUERIES, D])
        mbarrier.wait(full.index(at), phase)
        s = gl.zeros([KEYS, QUERIES], gl.float32, product)
        dp = gl.zeros([KEYS, QUERIES], gl.float32, product)
        s = warpgroup_mma(k, q.permute([1, 0]), s, use_acc=False, is_async=True)
        dp = warpgroup_mma(v, do.permute([1, 0]), dp, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(1, deps=[s])  # Sᵀ is here; dPᵀ goes on under the exponentials
        p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])
        seen = (keys < S_k)[:, None] & (queries < S_q)[None, :]
        if CAUSAL:
            seen = seen & (keys[:, None] <= queries[None, :] + S_k - S_q)
        p = gl.where(seen, p, 0.0)
        dp = warpgroup_mma_wait(0, deps=[dp])
        ds = (p * (dp - delta[None, :])).to(k.dtype)
        dv = warpgroup_mma(gl.convert_layout(p.to(k.dtype), left), do, dv, is_async=True)
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
        ds_tile.store(ds)
        fence_async_shared()  # the tensor core sees what ordinary stores wrote
        dq = gl.zeros([QUERIES, D], gl.float32, accumulator(D))
        dq = warpgroup_mma(ds_tile, k, dq, use_acc=False, is_async=True)
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])
        mbarrier.arrive(empty.index(at), count=1)
        tma.store_wait(0)  # the copy engine has read the block before
        dq_tile.store(dq)
        fence_async_shared()  # and it sees this one
        async_add_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)
    # K and V of this consumer are done with: their buffers take dK and dV
    k.store((dk * alpha).to(k.dtype))
    v.store(dv.to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h, key, 0], k_tiles.index(CONSUMER))
    tma.async_copy_shared_to_global(dv_desc, [b, h, key, 0], v_tiles.index(CONSUMER))
    tma.store_wait(0)


@gluon.jit
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, alpha,
    S_q, S_k, S_PADDED, CAUSAL: gl.constexpr,
):
    D: gl.constexpr = q_desc.block_type.shape[3]
    dtype: gl.constexpr = q_desc.dtype
    k_tiles = gl.allocate_shared_memory(dtype, [2, 1, 1, KEYS, D], k_desc.layout)
    v_tiles = gl.allocate_shared_memory(dtype, [2, 1, 1, KEYS, D], v_desc.layout)
    q_ring = gl.allocate_shared_memory(dtype, [STAGES, 1, 1, QUERIES, D], q_desc.layout)
    do_ring = gl.allocate_shared_memory(dtype, [STAGES, 1, 1, QUERIES, D], do_desc.layout)
    of_ds: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, QUERIES], dtype)
    ds_tiles = gl.allocate_shared_memory(dtype, [2, KEYS, QUERIES], of_ds)
    dq_tiles = gl.allocate_shared_memory(gl.float32, [2, QUERIES, D], dq_desc.layout)
    kv_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(kv_full, count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)  # both consumers
    b, h, key = gl.program_id(2), gl.program_id(1), gl.program_id(0) * 2 * KEYS
    first, last = 0, gl.cdiv(S_q, QUERIES)
    if CAUSAL:  # query i sees the keys up to i + S_k − S_q
        first = gl.minimum(gl.maximum(key - (S_k - S_q), 0) // QUERIES, last)
    row = (b * gl.num_programs(1) + h) * S_PADDED
    tiles, barriers = (k_tiles, v_tiles, q_ring, do_ring), (kv_full, full, empty)
    outputs, sizes = (dq_desc, dk_desc, dv_desc), (S_q, S_k, row)
    gl.warp_specialize(  # registers: 2 · 128 · 240 + 128 · 24 of 65536
        [
            (own_keys, (outputs, tiles, ds_tiles, dq_tiles, barriers, lse_ptr, delta_ptr, alpha, sizes,
                        b, h, key, first, last, CAUSAL, 0)),
            (own_keys, (outputs, tiles, ds_tiles, dq_tiles, barriers, lse_ptr, delta_ptr, alpha, sizes,
                        b, h, key, first, last, CAUSAL, 1)),
            (send_queries, ((q_desc, k_desc, v_desc, do_desc), tiles, barriers, b, h, key, first, last)),
        ],
        [4, 1], [240, 24],
    )


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK and dV of q [B, H, S_q, D], k and v [B, H, S_k, D] in fp16 or bf16, D 64 or 128.

    o and lse [B, H, S_q] (natural, −inf for a query that sees no key) are the forward pass's; `alpha` is 1/√D
    unless given. Raises TypeError or ValueError for what these kernels are not written for.
    """
    refuse_unknown(q)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    padded = triton.cdiv(S_q, 64) * 64  # of each head: a block of queries does not reach into the next
    lse_padded = torch.full((B, H, padded), math.inf, dtype=torch.float32, device=q.device)
    lse_padded[..., :S_q] = lse.masked_fill(lse == -math.inf, math.inf)
    delta = torch.zeros_like(lse_padded)
    delta[..., :S_q] = delta_preprocess(o, do)
    dq_sum = torch.zeros((B, H, padded, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
    dk, dv = like(k, k.shape), like(v, v.shape)
    fa3_backward_kernel[(triton.cdiv(S_k, 128), H, B)](
        *(rows_of_heads(t, 64) for t in (q, k, v, do)), tiles_of(dq_sum.view(-1, D), [64, D]),
        rows_of_heads(dk, 64), rows_of_heads(dv, 64), lse_padded, delta, alpha, S_q, S_k, padded,
        CAUSAL=causal, num_warps=4,
    )
    return (dq_sum[:, :, :S_q] * alpha).to(q.dtype), dk, dv
''',
        title="ds not turned for dq",
    )
)

wrong(
    "tma_ring",
    "the name of the static loop before, `slot`, is assigned anew in the loop: Triton's compiler "
    "refuses that.",
    "crashed",
)(
    written(
        """
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from flashlearn.kernels.gluon.parts import complying_rows, tiles_of


@gluon.jit
def tma_ring_kernel(x_desc, y_ptr, M, N, STAGES: gl.constexpr, num_warps: gl.constexpr):
    rows: gl.constexpr = x_desc.block_type.shape[0]
    columns: gl.constexpr = x_desc.block_type.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [num_warps, 1], [1, 0])
    first_row = gl.program_id(0) * rows
    tiles = gl.cdiv(N, columns)
    ring = gl.allocate_shared_memory(x_desc.dtype, [STAGES, rows, columns], x_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
    for slot in gl.static_range(STAGES):  # the whole ring is on its way
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=slot < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, slot * columns], full.index(slot), ring.index(slot), pred=slot < tiles
        )
    total = gl.zeros([rows], gl.float32, layout=gl.SliceLayout(1, layout))
    for i in range(tiles):
        slot = i % STAGES
        later = i + STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)
        part = ring.index(slot).load(layout)
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=later < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, later * columns], full.index(slot), ring.index(slot), pred=later < tiles
        )
        total += gl.sum(part.to(gl.float32), axis=1)
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
    out = first_row + gl.arange(0, rows, layout=gl.SliceLayout(1, layout))
    gl.store(y_ptr + out, total, mask=out < M)


def tma_ring(x: Tensor, block: tuple[int, int] = (32, 64), stages: int = 3) -> Tensor:
    if x.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected two dimensions [M, N]")
    x = complying_rows(x)
    y = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(x.shape[0], block[0]),)
    tma_ring_kernel[grid](tiles_of(x, list(block)), y, *x.shape, STAGES=stages, num_warps=4)
    return y
""",
        title="asks behind the load, once more",
    )
)
