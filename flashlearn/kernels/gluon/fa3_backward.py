"""FlashAttention-3's backward pass: each program owns 128 keys, two consumer warpgroups hold 64 of them each.

    >>> o, lse = fa3_forward(q, k, v, causal=True)
    >>> dq, dk, dv = fa3_backward(q, k, v, o, do, lse, causal=True)         # each like its input

Five products. Sᵀ = K Qᵀ and dPᵀ = V dOᵀ have keys as rows, so that Pᵀ and dSᵀ go into dV += Pᵀ dO and dK +=
dSᵀ Q straight from registers. dQ += dS K sums over the keys of both consumers: they exchange dSᵀ through
shared memory, each computes half of the tile, and the copy engine adds it to dQ in global memory in fp32.
The order of these additions differs from run to run, so dQ may differ in its last bits. Sources:
FlashAttention-3 (Shah et al., 2024, section 3 and appendix B.1), FlashAttention-2 (Dao, 2023, algorithm 2).
Tensors are [B, H, S, D] in fp16 or bf16, D is 64 or 128.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from flashlearn.kernels.described import complying, heads_together, like
from flashlearn.kernels.gluon.backward_partitions import HALF, KEYS, load, multiply
from flashlearn.kernels.gluon.parts import numbers, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_backward import delta_and_lse
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_backward"]


@gluon.jit(do_not_specialize=["GROUP", "TILES"])
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc, dq_desc, dk_desc, dv_desc, alpha, scale,
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, BLOCK_Q: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    dtype: gl.constexpr = q_desc.dtype
    keys: gl.constexpr = gl.NVMMASharedLayout.get_default_for([2 * KEYS, D], dtype)
    own: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, D], dtype)
    queries: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_Q, D], dtype)
    crossed: gl.constexpr = gl.NVMMASharedLayout.get_default_for([2 * KEYS, BLOCK_Q], dtype)
    added: gl.constexpr = gl.NVMMASharedLayout.get_default_for([HALF, HALF], gl.float32)
    kv = (
        gl.allocate_shared_memory(dtype, [2 * KEYS, D], keys),  # both consumers read all of K, for dQ
        gl.allocate_shared_memory(dtype, [2, KEYS, D], own),
    )
    rings = (
        gl.allocate_shared_memory(dtype, [STAGES, BLOCK_Q, D], queries),
        gl.allocate_shared_memory(dtype, [STAGES, BLOCK_Q, D], queries),
        gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], lse_desc.layout),
        gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], delta_desc.layout),
    )
    kv_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    ds_written = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    ds_read = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(kv_full, count=1)
    mbarrier.init(ds_written, count=2)
    mbarrier.init(ds_read, count=2)
    exchanged = (
        gl.allocate_shared_memory(dtype, [2 * KEYS, BLOCK_Q], crossed),
        gl.allocate_shared_memory(gl.float32, [2, HALF, HALF], added),
        ds_written,
        ds_read,
    )
    q_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    q_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    do_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    do_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(q_full.index(slot), count=1)
        mbarrier.init(q_empty.index(slot), count=2)
        mbarrier.init(do_full.index(slot), count=1)
        mbarrier.init(do_empty.index(slot), count=2)
    barriers = (q_full, q_empty, do_full, do_empty)
    sizes = (H, H_K, S_q, S_k, S_PADDED, GROUP, TILES)
    loaded = (q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc)
    gl.warp_specialize(
        [
            (multiply, (
                dq_desc, dk_desc, dv_desc, kv, rings, exchanged, kv_full, barriers, alpha, scale, sizes,
                CAUSAL, RAGGED, BLOCK_Q, D, STAGES, 0,
            )),
            (multiply, (
                dq_desc, dk_desc, dv_desc, kv, rings, exchanged, kv_full, barriers, alpha, scale, sizes,
                CAUSAL, RAGGED, BLOCK_Q, D, STAGES, 1,
            )),
            (load, (loaded, kv, rings, kv_full, barriers, sizes, CAUSAL, RAGGED, BLOCK_Q, STAGES)),
        ],
        [4, 1], [240, 24],
    )  # fmt: skip


@triton.jit
def scaled_kernel(sum_ptr, dq_ptr, alpha, elements, BLOCK: tl.constexpr):
    # dQ in fp32 to dQ in its dtype, times alpha
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    dq = tl.load(sum_ptr + at, mask=at < elements, other=0.0) * alpha
    tl.store(dq_ptr + at, dq.to(dq_ptr.dtype.element_ty), mask=at < elements)


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV, each of its input's shape and dtype; o and lse as `fa3_forward` returned them.

    Any strides; `alpha` is 1/√D unless given. Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    block_q = 64 if D == 128 else 128
    delta, lse2 = delta_and_lse(o, do, lse)
    dq_sum = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)
    dq, dk, dv = like(q, q.shape), like(k, k.shape), like(v, v.shape)
    tiles, padded = triton.cdiv(S_k, 2 * KEYS.value), lse2.shape[1]
    group = heads_together(B * H_k, tiles, 2 * S_q * D * q.element_size() * H // H_k, causal)
    fa3_backward_kernel[(tiles * B * H_k,)](
        rows_of_heads(q, block_q), rows_of_heads(k, 2 * KEYS.value), rows_of_heads(v, KEYS.value),
        rows_of_heads(do, block_q), numbers(lse2, block_q), numbers(delta, block_q),
        rows_of_heads(dq_sum, HALF.value, HALF.value), rows_of_heads(dk, KEYS.value),
        rows_of_heads(dv, KEYS.value),
        alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles,
        CAUSAL=causal, RAGGED=S_k % (2 * KEYS.value) != 0, BLOCK_Q=block_q, D=D, STAGES=2,
        num_warps=4,
    )  # fmt: skip
    scaled_kernel[(triton.cdiv(dq.numel(), 4096),)](dq_sum, dq, alpha, dq.numel(), BLOCK=4096, num_warps=8)
    return dq, dk, dv
