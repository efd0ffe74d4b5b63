# label: right
# title: helper for dS, pointers that move, tl.dot with acc

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def ds_of_tile(q, do, k, v, lse, delta, alpha, n_left, BLOCK_K: tl.constexpr):
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
    real = (tl.arange(0, BLOCK_K) < n_left)[None, :]
    p = tl.where(real, tl.exp(s - lse[:, None]), 0.0)
    return p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])

@triton.jit
def my_dq(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    stats = (b * tl.num_programs(1) + h) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    n = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    inside = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=inside, other=0.0
    )
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + rows[:, None] * do_row + d[None, :] * do_col,
        mask=inside, other=0.0
    )
    lse = tl.load(lse_ptr + stats + rows, mask=rows < S_q, other=float("inf"))
    delta = tl.load(delta_ptr + stats + rows, mask=rows < S_q, other=0.0)
    k_tile = k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col
    v_tile = v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        left = S_k - start
        load_mask = (n < left)[:, None] & (d < D)[None, :]
        k = tl.load(k_tile, mask=load_mask, other=0.0)
        v = tl.load(v_tile, mask=load_mask, other=0.0)
        ds = ds_of_tile(q, do, k, v, lse, delta, alpha, left, BLOCK_K)
        dq = tl.dot(ds.to(k.dtype), k, acc=dq, input_precision="ieee")
        k_tile += BLOCK_K * k_row
        v_tile += BLOCK_K * v_row
    tl.store(dq_ptr + b * dq_batch + h * dq_head + rows[:, None] * dq_row + d[None, :] * dq_col,
             (alpha * dq).to(dq_ptr.dtype.element_ty), mask=inside)

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    my_dq[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
