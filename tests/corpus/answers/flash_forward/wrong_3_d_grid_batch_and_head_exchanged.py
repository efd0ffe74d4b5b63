# label: wrong
# title: 3-D grid, batch and head exchanged
# says: The grid is (blocks, H, B) but the kernel takes b from axis 1 and h from axis 2. Right for B = H only;
#   otherwise heads are left out and addresses beyond the tensor are touched (B 1, H 2).
# names: out_of_bounds

@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_mask = d[None, :] < D
    q_mask = (rows[:, None] < S_q) & d_mask
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_mask, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        c = start + keys
        mask = (c[:, None] < S_k) & d_mask
        k = tl.load(k_ptr + c[:, None] * k_row + d[None, :] * k_col, mask=mask, other=0.0)
        v = tl.load(v_ptr + c[:, None] * v_row + d[None, :] * v_col, mask=mask, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = s + tl.where(c < S_k, 0.0, -float("inf"))[None, :]
        mn = tl.maximum(m, tl.max(s, axis=1))
        w = tl.exp(m - mn)
        p = tl.exp(s - mn[:, None])
        l = l * w + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * w[:, None], input_precision="ieee")
        m = mn
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l[:, None]).to(o_ptr.dtype.element_ty),
        mask=q_mask
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
