# label: wrong
# title: two mistakes: whole tiles only, and LSE = m - log l
# says: The loop runs `S_k // BLOCK_K` times, so the last ragged tile of keys is left out (S_k = 3: no tile at
#   all); and the LSE is stored as `m - tl.log(l)`, the sign of the logarithm is wrong for every row with more
#   than one key.
# names: log l is subtracted + loop ends one tile early

@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    mask_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    o = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for step in range(S_k // BLOCK_K):
        j = step * BLOCK_K + keys
        mask_k = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        x = tl.where(
            (j < S_k)[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf")
        )
        top = tl.maximum(m, tl.max(x, axis=1))
        f = tl.exp(m - top)
        e = tl.exp(x - top[:, None])
        l = f * l + tl.sum(e, axis=1)
        o = f[:, None] * o + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        m = top
    o = o / l[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=mask_q)
    tl.store(lse_ptr + rows, m - tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
