# label: wrong
# title: two-stage loop, unmasked stage too long
# says: `whole = tl.cdiv(first_seen, BLOCK) * BLOCK` rounds up: when the shift S_k - S_q is no multiple of the
#   tile, the last tile of the stage without a mask is crossed by the diagonal (S_q 40, S_k 70), and queries
#   see later keys. It has to round down.
# names: leak from the future; only whole tiles are hidden

@triton.jit
def inner(q, m, l, acc, k_ptr, v_ptr, alpha, rows, lo, hi, shift, S_k, D,
          k_row, k_col, v_row, v_col, MASKED: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    for start in range(lo, hi, BLOCK):
        n = start + tl.arange(0, BLOCK).to(tl.int64)
        ok = (n[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=ok, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if MASKED:
            s = tl.where(n[None, :] <= rows[:, None] + shift, s, -float("inf"))
        s = tl.where(n[None, :] < S_k, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        sub = tl.where(m_new == -float("inf"), 0.0, m_new)
        c = tl.exp(m - sub)
        p = tl.exp(s - sub[:, None])
        l = l * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    return m, l, acc

@triton.jit
def outer(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    rows = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    mask = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=mask, other=0.0
    )
    kp = k_ptr + b * k_batch + h * k_head
    vp = v_ptr + b * v_batch + h * v_head
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    acc = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    shift = S_k - S_q
    end = tl.minimum(S_k, (pid + 1) * BLOCK + shift)
    first_seen = tl.maximum(0, pid * BLOCK + shift)  # what the block's first query sees
    whole = tl.minimum(tl.cdiv(first_seen, BLOCK) * BLOCK, end)
    m, l, acc = inner(q, m, l, acc, kp, vp, alpha, rows, 0, whole, shift, S_k, D,
                      k_row, k_col, v_row, v_col, False, BLOCK, BLOCK_D)
    m, l, acc = inner(q, m, l, acc, kp, vp, alpha, rows, whole, end, shift, S_k, D,
                      k_row, k_col, v_row, v_col, True, BLOCK, BLOCK_D)
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             o.to(o_ptr.dtype.element_ty), mask=mask)
    tl.store(lse_ptr + bh * S_q + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    outer[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
