# label: wrong
# title: loop end counted in tiles of keys
# says: `last = (pid + 1) * BLOCK_K + S_k - S_q` should count queries, (pid + 1) * BLOCK_Q. The launcher takes
#   BLOCK_Q = 32 and BLOCK_K = 16, so the loop ends too early and the later queries of S = 128 lose keys.
# names: a tile on the diagonal is skipped; loop ends one tile early

@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    in_d = (d < D)[None, :]
    in_q = (rows < S_q)[:, None] & in_d
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_q, other=0.0)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last = (pid + 1) * BLOCK_K + S_k - S_q
    for start in range(0, tl.minimum(last, S_k), BLOCK_K):
        cols = start + keys
        in_k = (cols < S_k)[:, None] & in_d
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=in_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=in_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        visible = (cols[None, :] - rows[:, None] <= S_k - S_q) & (cols < S_k)[None, :]
        s = tl.where(visible, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        ref = tl.where(new_top == -float("inf"), 0.0, new_top)
        fade = tl.exp(top - ref)
        p = tl.exp(s - ref[:, None])
        total = total * fade + tl.sum(p, axis=1)
        acc = acc * fade[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    empty = total == 0.0
    o = tl.where(empty[:, None], 0.0, acc / tl.where(empty, 1.0, total)[:, None])
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=in_q)
    tl.store(lse_ptr + rows, top + tl.log(total), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_Q = block or 32
    BLOCK_K = 16
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK_Q), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
