# label: wrong
# title: dq grows in k's dtype
# says: `grad = tl.zeros(..., k_ptr.dtype.element_ty)` and the `.to(grad.dtype)` in the loop: dQ is rounded to
#   half precision after every tile. In fp16 and bf16 with many keys the error is far above one rounding; the
#   sum has to grow in fp32.
# names: precision; dQ accumulated in half precision

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
    d_ok = (d < D)[None, :]
    r_ok = rows < S_q
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=r_ok[:, None] & d_ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=r_ok[:, None] & d_ok, other=0.0)
    L = tl.load(lse_ptr + rows, mask=r_ok, other=0.0)[:, None]
    Dlt = tl.load(delta_ptr + rows, mask=r_ok, other=0.0)[:, None]
    grad = tl.zeros((BLOCK_Q, BLOCK_D), k_ptr.dtype.element_ty)
    for t in range(tl.cdiv(S_k, BLOCK_K)):
        n = t * BLOCK_K + keys
        n_ok = n < S_k
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=n_ok[:, None] & d_ok, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=n_ok[:, None] & d_ok, other=0.0)
        s = tl.where(n_ok[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf"))
        p = tl.exp(s - L)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - Dlt)
        grad += tl.dot(ds.to(k.dtype), k, input_precision="ieee").to(grad.dtype)
    grad = grad.to(tl.float32) * alpha
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, grad.to(dq_ptr.dtype.element_ty),
        mask=r_ok[:, None] & d_ok
    )

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_dq_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
