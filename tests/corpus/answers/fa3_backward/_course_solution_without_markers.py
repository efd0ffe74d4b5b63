# part: a text that answers change

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
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads, tiles_of
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global

KEYS = gl.constexpr(64)
QUERIES = gl.constexpr(64)
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
        dq = warpgroup_mma(ds_tile.permute([1, 0]), k, dq, use_acc=False, is_async=True)
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
