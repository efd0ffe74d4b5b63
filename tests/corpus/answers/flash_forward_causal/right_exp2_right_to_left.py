# label: right
# title: exp2, right to left

@triton.jit
def causal_backwards_walk(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    LOG2E: tl.constexpr = 1.4426950408889634
    LN2: tl.constexpr = 0.6931471805599453
    pid = tl.program_id(1)
    bh = tl.program_id(0).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    count = tl.cdiv(tl.maximum(end, 0), BLOCK_K)
    for t in range(0, count):
        n = (count - 1 - t) * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_in = (n < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col,
            mask=kv_in, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col,
            mask=kv_in, other=0.0
        )
        x = (alpha * LOG2E) * tl.dot(q, tl.trans(k), input_precision="ieee")
        hidden = (n[None, :] > rows[:, None] + (S_k - S_q)) | (n >= S_k)[None, :]
        x = tl.where(hidden, -float("inf"), x)
        m_new = tl.maximum(m, tl.max(x, axis=1))
        base = tl.where(m_new == -float("inf"), 0.0, m_new)
        old = tl.exp2(m - base)
        p = tl.exp2(x - base[:, None])
        l = l * old + tl.sum(p, axis=1)
        acc = acc * old[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    some = l > 0.0
    l_div = tl.where(some, l, 1.0)
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             (acc / l_div[:, None]).to(o_ptr.dtype.element_ty), mask=mine)
    lse = tl.where(some, LN2 * (m + tl.log2(l_div)), -float("inf"))
    tl.store(lse_ptr + bh * S_q + rows, lse, mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    causal_backwards_walk[(B * H, triton.cdiv(S_q, BLOCK))](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
