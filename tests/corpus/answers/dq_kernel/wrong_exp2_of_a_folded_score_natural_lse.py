# label: wrong
# title: exp2 of a folded score, natural LSE
# says: `tl.exp2(s - lse_i)`: s carries log2(e), the LSE does not. It has to be multiplied by log2(e) as well;
#   P is wrong wherever LSE is not 0.
# names: LSE read as base 2

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
    row0 = tl.program_id(1).to(tl.int64) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    rm = rows < S_q
    qm = rm[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=qm, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=qm, other=0.0)
    lse_i = tl.load(lse_ptr + row0 + rows, mask=rm, other=float("inf"))
    di = tl.load(delta_ptr + row0 + rows, mask=rm, other=0.0)
    scale_log2 = alpha * 1.44269504
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    curr = 0
    while curr < S_k:
        n = curr + tl.arange(0, BLOCK_K).to(tl.int64)
        km = (n < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=km, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=km, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale_log2
        s = tl.where((n < S_k)[None, :], s, -float("inf"))
        p = tl.exp2(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - di[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
        curr += BLOCK_K
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, (dq * alpha).to(dq_ptr.dtype.element_ty),
        mask=qm
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
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
