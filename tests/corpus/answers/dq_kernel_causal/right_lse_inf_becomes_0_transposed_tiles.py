# label: right
# title: LSE -inf becomes 0, transposed tiles

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dq_causal_transposed(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(1)
    bh = tl.program_id(0).to(tl.int64)
    b = bh // H
    h = bh % H
    i = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    q_in = (i < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0
    )
    do = tl.load(
        do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + d[None, :] * do_col,
        mask=q_in, other=0.0
    )
    lse = tl.load(lse_ptr + bh * S_q + i, mask=i < S_q, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    delta = tl.load(delta_ptr + bh * S_q + i, mask=i < S_q, other=0.0)
    qt = tl.trans(q)
    dot_ = tl.trans(do)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    start = 0
    while start < end:
        j = start + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_in = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + d[None, :] * k_col,
            mask=kv_in, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + d[None, :] * v_col,
            mask=kv_in, other=0.0
        )
        st = alpha * tl.dot(k, qt, input_precision="ieee")  # (keys, queries)
        hide = (j[:, None] - i[None, :] > S_k - S_q) | (j >= S_k)[:, None]
        pt = tl.exp(tl.where(hide, -float("inf"), st) - lse[None, :])
        dpt = tl.dot(v, dot_, input_precision="ieee")
        dst = pt * (dpt - delta[None, :])
        dq += tl.dot(tl.trans(dst.to(k.dtype)), k, input_precision="ieee")
        start += BLOCK_K
    tl.store(dq_ptr + b * dq_batch + h * dq_head + i[:, None] * dq_row + d[None, :] * dq_col,
             (dq * alpha).to(dq_ptr.dtype.element_ty), mask=q_in)

def dq_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or 32
    dq_causal_transposed[(B * H, triton.cdiv(S_q, BLOCK))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
