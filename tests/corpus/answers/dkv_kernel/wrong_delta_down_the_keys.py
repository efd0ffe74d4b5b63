# label: wrong
# title: delta down the keys
# says: the tiles are held transposed (keys × queries), LSE is broadcast across rightly, but in dst = pt *
#   (dpt - delta[:, None]) delta runs down the keys; it must be delta[None, :].
# names: delta along the keys

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    batch = tl.program_id(2).to(tl.int64)
    q_ptr += batch * q_batch + head * q_head
    k_ptr += batch * k_batch + head * k_head
    v_ptr += batch * v_batch + head * v_head
    do_ptr += batch * do_batch + head * do_head
    dk_ptr += batch * dk_batch + head * dk_head
    dv_ptr += batch * dv_batch + head * dv_head
    lse_ptr += (batch * H + head) * S_q
    delta_ptr += (batch * H + head) * S_q

    n = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    own = (n[:, None] < S_k) & (d[None, :] < D)
    k_tile = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=own, other=0.0)
    v_tile = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=own, other=0.0)
    sum_k = tl.zeros((BLOCK_K, BLOCK_D), dtype=tl.float32)
    sum_v = tl.zeros((BLOCK_K, BLOCK_D), dtype=tl.float32)

    # I keep everything transposed (keys down, queries across): then dv and dk need no tl.trans at all
    for t in range(tl.cdiv(S_q, BLOCK_Q)):
        m = t * BLOCK_Q + tl.arange(0, BLOCK_Q)
        there = (m[:, None] < S_q) & (d[None, :] < D)
        q_tile = tl.load(q_ptr + m[:, None] * q_row + d[None, :] * q_col, mask=there, other=0.0)
        do_tile = tl.load(do_ptr + m[:, None] * do_row + d[None, :] * do_col, mask=there, other=0.0)
        lse = tl.load(lse_ptr + m, mask=m < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + m, mask=m < S_q, other=0.0)
        st = tl.dot(k_tile, tl.trans(q_tile), input_precision="ieee") * alpha
        pt = tl.exp(st - lse[None, :])
        sum_v += tl.dot(pt.to(do_tile.dtype), do_tile, input_precision="ieee")
        dpt = tl.dot(v_tile, tl.trans(do_tile), input_precision="ieee")
        dst = pt * (dpt - delta[:, None])
        sum_k += tl.dot(dst.to(q_tile.dtype), q_tile, input_precision="ieee")

    tl.store(dk_ptr + n[:, None] * dk_row + d[None, :] * dk_col, (alpha * sum_k).to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + n[:, None] * dv_row + d[None, :] * dv_col, sum_v.to(dv_ptr.dtype.element_ty), mask=own)


# INCLUDE: _dkv_kernel_2
