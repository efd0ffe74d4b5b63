# label: wrong
# title: softmax of each tile for itself
# says: `p = e / tl.sum(e, 1)[:, None]` normalises within the tile and never uses LSE. Right only if all keys
#   fit into one tile; for S_k > 32 each tile's P sums to 1.
# names: softmax of the tile

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def tile_softmax(s):
    e = tl.exp(s - tl.max(s, axis=1)[:, None])
    return e / tl.sum(e, axis=1)[:, None]

@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    mask_q = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
    delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        mask_k = (columns[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(columns[None, :] < S_k, s, -float("inf"))
        p = tile_softmax(s)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=mask_q
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
