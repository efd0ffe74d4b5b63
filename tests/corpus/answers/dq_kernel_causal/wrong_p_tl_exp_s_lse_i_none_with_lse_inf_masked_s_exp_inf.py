# label: wrong
# title: no guard for LSE = -inf
# says: `p = tl.exp(s - lse_i[:, None])` with LSE = -inf and a masked s is exp(-inf + inf) = NaN. For S_q >
#   S_k the queries that see nothing but share a block with others get NaN in dQ.
# names: no guard for queries that see nothing

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dq_causal_kernel(
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
    block_mask = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block_mask, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=block_mask, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=rows < S_q, other=float("inf"))
    delta_i = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    diagonal = S_k - S_q
    visible_keys = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + diagonal, S_k)
    n_tiles = tl.cdiv(tl.maximum(visible_keys, 0), BLOCK_K)
    for t in range(n_tiles):
        columns = t * BLOCK_K + keys
        tile_mask = (columns < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=tile_mask, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=tile_mask, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(rows[:, None] + diagonal >= columns[None, :], s, -float("inf"))
        s = tl.where((columns < S_k)[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty),
        mask=block_mask
    )

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
