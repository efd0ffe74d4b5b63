# label: wrong
# title: mask not turned with the tile
# says: `visible = columns[None, :] <= rows[:, None] + shift` is laid out [queries, keys] while the tile is
#   [keys, queries]: the mask is transposed, which a square tile does not notice.
# names: leak from the future

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_block = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    begin = tl.maximum(tl.program_id(0) * BLOCK_K - shift, 0) // BLOCK_Q * BLOCK_Q
    for start in range(begin, S_q, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        there = rows < S_q
        tile = there[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=tile, other=0.0)
        lse = tl.load(lse_ptr + rows, mask=there, other=float("inf"))
        delta = tl.load(delta_ptr + rows, mask=there, other=0.0)
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        # keys first: (BLOCK_K, BLOCK_Q), so no tl.trans on p and ds
        s = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")
        visible = columns[None, :] <= rows[:, None] + shift
        p = tl.where(visible, tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
        ds = p * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, (dk * alpha).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


def dkv_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> tuple[Tensor, Tensor]:
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dkv_causal_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=2,
    )
    return dk, dv
