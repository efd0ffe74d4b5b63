# label: right
# title: while loop, 3-D grid, l starts at 1

@triton.jit
def attention_rows(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
    i = tl.program_id(2).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    d_in = (d < D)[None, :]
    q_in = (i < S_q)[:, None] & d_in
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=q_in, other=0.0
    )
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.full((BLOCK_Q,), 1.0, tl.float32)  # whatever it is, the first rescale is exp(-inf) = 0
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    done = 0
    while done < S_k:
        j = done + tl.arange(0, BLOCK_K).to(tl.int64)
        real = j < S_k
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=real[:, None] & d_in, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = s + tl.where(real, 0.0, -float("inf"))[None, :]
        m_next = tl.maximum(tl.max(s, axis=1), m)
        p = tl.exp(s - m_next[:, None])
        old = tl.exp(m - m_next)
        l = tl.sum(p, axis=1) + old * l
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=real[:, None] & d_in, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc=acc * old[:, None], input_precision="ieee")
        m = m_next
        done += BLOCK_K
    o = acc * (1.0 / l)[:, None]
    tl.store(o_ptr + b * o_batch + h * o_head + i[:, None] * o_row + d[None, :] * o_col,
             o.to(o_ptr.dtype.element_ty), mask=q_in)
    tl.store(lse_ptr + (b * tl.num_programs(1) + h) * S_q + i, m + tl.log(l), mask=i < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    attention_rows[(B, H, triton.cdiv(S_q, BLOCK))](
        q, k, v, o, lse, alpha, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
