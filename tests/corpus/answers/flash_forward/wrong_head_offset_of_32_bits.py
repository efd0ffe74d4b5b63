# label: wrong
# title: the head's offset has 32 bits
# says: b · q_batch + h · q_head may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: _flash_forward

# --- replace
def flash_forward(
# --- with
@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = (tl.program_id(1) % H)
    b = (tl.program_id(2) + tl.program_id(1) // H)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp2((s - m_new[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / l_i[:, None]
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def flash_forward(

# --- replace
    """O [B, H, S_q, D] in q's dtype, and LSE [B, H, S_q] in fp32; every query sees all S_k ≥ 1 keys."""
# --- with


# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
# --- with
    BLOCK_D = max(16, triton.next_power_of_2(D))
