# label: wrong
# title: delta in the kernel, O read with the strides of dO
# says: `o_ptr + off_do`: O is read with the strides of dO. They differ as soon as dO is a view, an expanded
#   one for instance (o.sum().backward() has strides 0) or a transposed projection; delta is wrong then.
# names: first divergence

@triton.jit
def dq_with_delta(
    q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_block = (rows < S_q)[:, None] & (d < D)[None, :]
    off_do = b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col
    do = tl.load(do_ptr + off_do, mask=in_block, other=0.0)
    o = tl.load(o_ptr + off_do, mask=in_block, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=in_block, other=0.0
    )
    lse = tl.load(lse_ptr + tl.program_id(1).to(tl.int64) * S_q + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    for start in range(0, S_k, BLOCK_K):
        j = start + tl.arange(0, BLOCK_K).to(tl.int64)
        in_tile = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < S_k)[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta[:, None])).to(k.dtype)
        dq = tl.dot(ds, k, acc=dq, input_precision="ieee")
    dq = dq * alpha
    tl.store(dq_ptr + b * dq_batch + h * dq_head + rows[:, None] * dq_row + d[None, :] * dq_col,
             dq.to(dq_ptr.dtype.element_ty), mask=in_block)

def dq_kernel(q, k, v, o, do, lse, alpha, block = 0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_with_delta[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
