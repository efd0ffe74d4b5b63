# part: a text that answers change

from flashlearn.kernels.delta import delta_preprocess


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
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    Qb = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    dOb = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    L = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    Dl = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    L = tl.where(L == -float("inf"), float("inf"), L)
    limit = rows[:, None] + (S_k - S_q)
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(stop, BLOCK_K)):
        cols = t * BLOCK_K + keys
        theirs = (cols < S_k)[:, None] & (d < D)[None, :]
        Kb = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        Vb = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        S = alpha * tl.dot(Qb, tl.trans(Kb), input_precision="ieee")
        S = tl.where((cols < S_k)[None, :] & (cols[None, :] <= limit), S, -float("inf"))
        P = tl.exp(S - L)
        dP = tl.dot(dOb, tl.trans(Vb), input_precision="ieee")
        dS = P * (dP - Dl)
        grad = tl.dot(dS.to(Kb.dtype), Kb, grad, input_precision="ieee")
    grad = grad * alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, grad.to(dq_ptr.dtype.element_ty), mask=mine
    )


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dq_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return dq
