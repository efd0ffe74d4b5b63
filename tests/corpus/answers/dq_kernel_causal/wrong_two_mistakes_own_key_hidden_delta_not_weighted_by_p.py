# label: wrong
# title: two mistakes: own key hidden, delta not weighted by p
# says: The mask has `<` where the query's last key is included (`<=`), so each query loses its own key; and
#   `ds = p * dp - delta` takes delta outside the product with p, so that even hidden keys get -delta. Both
#   show for every S.
# names: delta subtracted after P + mask hides the diagonal

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
    valid_row = rows < S_q
    valid_d = d < D
    vq = valid_row[:, None] & valid_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=vq, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=vq, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=valid_row, other=0.0)
    no_key = lse == -float("inf")
    lse = tl.where(no_key, float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=valid_row, other=0.0)
    result = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    start = 0
    while start < stop:
        c = start + keys
        vk = (c < S_k)[:, None] & valid_d[None, :]
        k = tl.load(k_ptr + c[:, None] * k_row + d[None, :] * k_col, mask=vk, other=0.0)
        v = tl.load(v_ptr + c[:, None] * v_row + d[None, :] * v_col, mask=vk, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (c[None, :] < rows[:, None] + S_k - S_q) & (c < S_k)[None, :]
        s = tl.where(seen, s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * dp - delta[:, None]
        result += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        start += BLOCK_K
    result *= alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, result.to(dq_ptr.dtype.element_ty), mask=vq
    )

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
