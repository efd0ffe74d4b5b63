# label: wrong
# title: one maximum for the block
# says: the line `m_new = tl.maximum(m_i, tl.max(s))` forgets the axis and keeps one maximum for all queries
#   of the block: rows whose scores lie far below it underflow to l = 0.
# names: one maximum for all rows; zero over zero
# base: _course_solution_without_markers

# --- replace
    LOG2E: tl.constexpr = 1.4426950408889634  # exp(x) = exp2(x · log₂e), and exp2 takes fewer instructions
# --- with
    minus_inf = -float("inf")

# --- replace
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)  # (BLOCK_Q, BLOCK_D)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
# --- with
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((), minus_inf, tl.float32)  # running maximum

# --- replace
        # zeros beyond D add nothing to q · k; rows of zeros beyond S_k are masked in s
# --- with

# --- replace
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        s = tl.where(in_keys[None, :], s, -float("inf"))  # after alpha, which may be negative
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)  # 0 for the first tile: exp(-inf)
        p = tl.exp2((s - m_new[:, None]) * LOG2E)  # exp(s - m_new): at most 1; 0 for a padded key
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
# --- with
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, minus_inf)
        m_new = tl.maximum(m_i, tl.max(s))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale + tl.dot(p.to(v.dtype), v, input_precision="ieee")
