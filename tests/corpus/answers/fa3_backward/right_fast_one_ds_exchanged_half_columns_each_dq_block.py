# label: right
# title: the fast one: dS exchanged, half of the columns each, dQ a block behind

from torch import Tensor
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
from flashlearn.kernels.compiled_launches import Call, launch
from flashlearn.kernels.described import complying, heads_together, like
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads, tiles_of
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global
from flashlearn.kernels.tuned_backward import PADDED, delta_call
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

KEYS = gl.constexpr(64)
BLOCK_Q = gl.constexpr(64)


@gluon.jit
def part_of_dq(k_tiles, exchange, slot, D: gl.constexpr, CONSUMER: gl.constexpr):
    # half of the columns of dQ = Σ over both consumers' keys of dS K, in flight
    dq = gl.zeros([BLOCK_Q, D // 2], gl.float32, accumulator(D // 2))
    for c in gl.static_range(2):
        dst = exchange.index(slot * 2 + c)
        k = k_tiles.index(c).reshape([KEYS, D]).slice(D // 2 * CONSUMER, D // 2, dim=1)
        dq = warpgroup_mma(dst.permute([1, 0]), k, dq, use_acc=c > 0, is_async=True)
    return dq


@gluon.jit
def add_to_dq(dq_desc, dq_tile, dq, row, CONSUMER: gl.constexpr):
    tma.store_wait(0)  # the copy engine has read the dQ before
    dq_tile.store(dq)
    fence_async_shared()  # what threads wrote, before the copy engine reads it
    async_add_shared_to_global(dq_desc, [row, dq.shape[1] * CONSUMER], dq_tile)


@gluon.jit
def scan_queries_past_keys(
    dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
    shift, S_k, taken, first, last, row_before,
    MASKED: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):  # fmt: skip
    # blocks of queries first … last - 1 of one head; Sᵀ, Pᵀ, dPᵀ and dSᵀ are [64 keys, BLOCK_Q queries];
    # dQ that is added is that of the block before, at row_before
    k_tiles, _, q_ring, do_ring, lse_ring, delta_ring = tiles
    _, full, empty, exchanged = barriers
    product: gl.constexpr = accumulator(BLOCK_Q)
    query: gl.constexpr = gl.SliceLayout(0, product)
    left: gl.constexpr = operand_a(dk.type.layout)
    for i in range(first, last):
        slot, before, now = taken % STAGES, taken % 3, (taken + 1) % 3
        q = q_ring.index(slot).reshape([BLOCK_Q, D])
        do = do_ring.index(slot).reshape([BLOCK_Q, D])
        mbarrier.wait(full.index(slot), taken // STAGES & 1)
        s = gl.zeros([KEYS, BLOCK_Q], gl.float32, product)
        dp = gl.zeros([KEYS, BLOCK_Q], gl.float32, product)
        s = warpgroup_mma(k, q.permute([1, 0]), s, use_acc=False, is_async=True)
        dp = warpgroup_mma(v, do.permute([1, 0]), dp, use_acc=False, is_async=True)
        lse = lse_ring.index(slot).load(query)
        s = warpgroup_mma_wait(1, deps=[s])  # S is here, dP may go on under the exponentials
        p = gl.exp2(s * scale - lse[None, :])
        if MASKED:
            rows = i * BLOCK_Q + gl.arange(0, BLOCK_Q, query)
            p = gl.where(columns[:, None] <= rows[None, :] + shift, p, 0.0)
        if RAGGED:  # keys that are not there: K is zero, but P may be too large for 0 · P
            p = gl.where((columns < S_k)[:, None], p, 0.0)
        delta = delta_ring.index(slot).load(query)
        dp = warpgroup_mma_wait(0, deps=[dp])
        # three buffers: whoever has written the one before is past the products that read this one
        mbarrier.wait(exchanged.index(before), taken // 3 & 1)
        ds = (p * (dp - delta[None, :])).to(q.dtype)
        exchange.index(now * 2 + CONSUMER).store(ds)
        fence_async_shared()  # what threads wrote, before the tensor cores read it
        mbarrier.arrive(exchanged.index(now), count=1)
        # together and as late as this: dV any earlier, beside P and dP, costs registers, and spills at D 128
        dv = warpgroup_mma(gl.convert_layout(p.to(q.dtype), left), do, dv, is_async=True)
        dq = part_of_dq(k_tiles, exchange, before, D, CONSUMER)
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
        dv, dq = warpgroup_mma_wait(1, deps=[dv, dq])
        add_to_dq(dq_desc, dq_tile, dq, row_before, CONSUMER)  # under dK's product
        dk = warpgroup_mma_wait(0, deps=[dk])
        mbarrier.arrive(empty.index(slot), count=1)
        row_before = dq_row + i * BLOCK_Q
        taken += 1
    return dk, dv, taken, row_before


@gluon.jit
def block_at(sizes, CAUSAL: gl.constexpr):
    # the block of keys of this program, and which blocks of queries see it: `first` … `last`, those before
    # `whole` not all of it. Under a causal mask the first keys are seen most: they start first
    _, H_K, S_q, S_k, _, GROUP, TILES = sizes
    pid = gl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    first_column = in_group // GROUP * (2 * KEYS)
    first, whole, last = 0, 0, (S_q + BLOCK_Q - 1) // BLOCK_Q
    if CAUSAL:
        shift = S_k - S_q  # query i sees the keys up to i + shift
        first = gl.minimum(gl.maximum(first_column - shift, 0) // BLOCK_Q, last)
        seen_by_all = gl.maximum(first_column + 2 * KEYS - 1 - shift, 0)
        whole = gl.minimum((seen_by_all + BLOCK_Q - 1) // BLOCK_Q, last)
    return bh // H_K, bh % H_K, first_column, first, whole, last


@gluon.jit
def load(descriptors, tiles, barriers, sizes, CAUSAL: gl.constexpr, STAGES: gl.constexpr):
    # the producer: K and V once, then Q, dO, LSE and delta block by block, for every head that shares K and V
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc = descriptors
    k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring = tiles
    kv_full, full, empty, _ = barriers
    H, H_K, _, _, S_PADDED, _, _ = sizes
    b, h_k, first_column, first, _, last = block_at(sizes, CAUSAL)
    mbarrier.expect(kv_full.index(0), 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
    for c in gl.static_range(2):
        at = [b, h_k, first_column + c * KEYS, 0]
        tma.async_copy_global_to_shared(k_desc, at, kv_full.index(0), k_tiles.index(c))
        tma.async_copy_global_to_shared(v_desc, at, kv_full.index(0), v_tiles.index(c))
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for i in range(first, last):
            slot, phase = taken % STAGES, taken // STAGES & 1
            bar = full.index(slot)
            row = (b * H + h) * S_PADDED + i * BLOCK_Q
            mbarrier.wait(empty.index(slot), phase ^ 1)  # at first nobody holds it: phase -1 is over
            mbarrier.expect(bar, q_desc.block_type.nbytes + do_desc.block_type.nbytes + 8 * BLOCK_Q)
            tma.async_copy_global_to_shared(q_desc, [b, h, i * BLOCK_Q, 0], bar, q_ring.index(slot))
            tma.async_copy_global_to_shared(lse_desc, [row], bar, lse_ring.index(slot))
            tma.async_copy_global_to_shared(do_desc, [b, h, i * BLOCK_Q, 0], bar, do_ring.index(slot))
            tma.async_copy_global_to_shared(delta_desc, [row], bar, delta_ring.index(slot))
            taken += 1


@gluon.jit
def multiply(
    outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr, REGISTERS: gl.constexpr,
):  # fmt: skip
    # a consumer: 64 of the program's keys
    dq_desc, dk_desc, dv_desc = outputs
    k_tiles, v_tiles, _, _, _, _ = tiles
    kv_full, _, _, exchanged = barriers
    H, H_K, S_q, S_k, S_PADDED, _, _ = sizes
    b, h_k, first_column, first, whole, last = block_at(sizes, CAUSAL)
    first_column += CONSUMER * KEYS
    columns = first_column + gl.arange(0, KEYS, gl.SliceLayout(1, accumulator(BLOCK_Q)))
    k = k_tiles.index(CONSUMER).reshape([KEYS, D])
    v = v_tiles.index(CONSUMER).reshape([KEYS, D])
    dq_tile = dq_tiles.index(CONSUMER)
    dk = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    dv = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    # before the first block there is nothing: dS is zero, and so is what it adds to dQ
    zeros = gl.zeros([KEYS, BLOCK_Q], v_tiles.dtype, accumulator(BLOCK_Q))
    exchange.index(CONSUMER).store(zeros)
    fence_async_shared()
    mbarrier.arrive(exchanged.index(0), count=1)
    row_before = (b * H + h_k * (H // H_K)) * S_PADDED
    mbarrier.wait(kv_full.index(0), 0)
    if REGISTERS:  # both are left operands of every block: shared memory is read once
        k = k.load(operand_a(accumulator(BLOCK_Q)))
        v = v.load(operand_a(accumulator(BLOCK_Q)))
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        dq_row = (b * H + h) * S_PADDED
        if CAUSAL:
            dk, dv, taken, row_before = scan_queries_past_keys(
                dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
                S_k - S_q, S_k, taken, first, whole, row_before, True, RAGGED, D, STAGES, CONSUMER,
            )  # fmt: skip
        dk, dv, taken, row_before = scan_queries_past_keys(
            dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
            S_k - S_q, S_k, taken, gl.maximum(first, whole), last, row_before, False, RAGGED, D,
            STAGES, CONSUMER,
        )  # fmt: skip
    mbarrier.wait(exchanged.index(taken % 3), taken // 3 & 1)
    dq = part_of_dq(k_tiles, exchange, taken % 3, D, CONSUMER)
    dq = warpgroup_mma_wait(0, deps=[dq])
    add_to_dq(dq_desc, dq_tile, dq, row_before, CONSUMER)
    # V of this consumer is done with: its buffer takes dV, and then dK
    box = v_tiles.index(CONSUMER)
    out = box.reshape([KEYS, D])
    out.store(dv.to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)
    out.store((dk * alpha).to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)


@gluon.jit
def ring(SLOTS: gl.constexpr, ARRIVALS: gl.constexpr):
    # SLOTS barriers, each of which completes a phase when ARRIVALS arrivals have come, and their bytes
    barriers = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(barriers.index(slot), count=ARRIVALS)
    return barriers


@gluon.jit(do_not_specialize=["GROUP", "TILES", "S_PADDED"])
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc, dq_desc, dk_desc, dv_desc, alpha, scale,
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, STAGES: gl.constexpr, REGISTERS: gl.constexpr,
):  # fmt: skip
    D: gl.constexpr = q_desc.block_type.shape[3]
    k_tiles = gl.allocate_shared_memory(k_desc.dtype, [2, 1, 1, KEYS, D], k_desc.layout)
    v_tiles = gl.allocate_shared_memory(v_desc.dtype, [2, 1, 1, KEYS, D], v_desc.layout)
    q_ring = gl.allocate_shared_memory(q_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], q_desc.layout)
    do_ring = gl.allocate_shared_memory(do_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], do_desc.layout)
    lse_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], lse_desc.layout)
    delta_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], delta_desc.layout)
    dst: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, BLOCK_Q], q_desc.dtype)
    exchange = gl.allocate_shared_memory(q_desc.dtype, [3 * 2, KEYS, BLOCK_Q], dst)
    dq_tiles = gl.allocate_shared_memory(gl.float32, [2, BLOCK_Q, D // 2], dq_desc.layout)
    kv_full, full, empty = ring(1, 1), ring(STAGES, 1), ring(STAGES, 2)
    exchanged = ring(3, 2)  # both consumers have written their dSᵀ
    tiles = (k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring)
    barriers = (kv_full, full, empty, exchanged)
    sizes = (H, H_K, S_q, S_k, S_PADDED, GROUP, TILES)
    inputs = (q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc)
    outputs = (dq_desc, dk_desc, dv_desc)
    gl.warp_specialize(  # registers: 2 · 128 · 240 + 128 · 24 of 65536
        [
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, STAGES, 0, REGISTERS)),
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, STAGES, 1, REGISTERS)),
            (load, (inputs, tiles, barriers, sizes, CAUSAL, STAGES)),
        ],
        [4, 1], [240, 24],
    )  # fmt: skip


@triton.jit
def finish_dq_kernel(sum_ptr, dq_ptr, alpha, S_q, S_PADDED, D: tl.constexpr, BLOCK: tl.constexpr):
    # dQ = alpha · the sum over keys, in the inputs' dtype; programs own BLOCK rows of one head
    tiles = S_PADDED // BLOCK
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    rows = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    total = tl.load(sum_ptr + (bh * S_PADDED + rows)[:, None] * D + d[None, :])
    dq = (total * alpha).to(dq_ptr.dtype.element_ty)
    tl.store(dq_ptr + (bh * S_q + rows)[:, None] * D + d[None, :], dq, mask=(rows < S_q)[:, None])


def flat(t: Tensor) -> TensorDescriptor:
    """t, dense, as one row of fp32 numbers in blocks of 64, as they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    return TensorDescriptor(t, [t.numel()], [1], [64], layout)


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV, each of its input's shape and dtype; o and lse as `fa3_forward` returned them.

    Any strides; `alpha` is 1/√D unless given. Raises TypeError or ValueError for what does not go together
    or is not for these kernels.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    padded = triton.cdiv(S_q, PADDED) * PADDED
    lse = lse.contiguous()
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=q.device)
    dq_sum = torch.zeros((B * H * padded, D), dtype=torch.float32, device=q.device)
    dq, dk, dv = like(q, q.shape), like(k, k.shape), like(v, v.shape)

    def calls() -> list[Call]:
        tiles = triton.cdiv(S_k, 128)
        group = heads_together(B * H_k, tiles, 2 * D * q.element_size() * S_q * H // H_k, causal)
        arguments = (
            *(rows_of_heads(t, 64) for t in (q, k, v, do)), flat(lse2), flat(delta),
            tiles_of(dq_sum, [64, D // 2]), rows_of_heads(dk, 64), rows_of_heads(dv, 64),
            alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles,
        )  # fmt: skip
        constants = {"CAUSAL": causal, "RAGGED": S_k % 128 != 0, "STAGES": 2, "REGISTERS": D == 64}
        return [
            delta_call(o, do, lse, delta, lse2),
            Call(fa3_backward_kernel, (tiles * B * H_k,), arguments, constants, {"num_warps": 4}),
            Call(
                finish_dq_kernel, (padded // 64 * B * H,), (dq_sum, dq, alpha, S_q, padded),
                {"D": D, "BLOCK": 64},
            ),
        ]  # fmt: skip

    strides = (q.stride(), k.stride(), v.stride(), o.stride(), do.stride())
    key = ("fa3 backward", causal, alpha, q.dtype, q.device, q.shape, k.shape, *strides)
    launch(key, (q, k, v, o, do, lse, delta, lse2, dq_sum, dq, dk, dv), calls)
    return dq, dk, dv
