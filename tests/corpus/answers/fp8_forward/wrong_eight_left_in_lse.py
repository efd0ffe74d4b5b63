# label: wrong
# title: eight left in lse
# says: two: line lse keeps the 8 of 256 times the sum; and acc goes into the new unit by v_scale / unit,
#   upside down
# names: the change of unit upside down + 256 left in LSE
# base: wrong_lse_keeps_the_eight

# --- replace
    # scale is alpha · log₂e · q's scale; m_i is in base 2, l_i is 256 times the sum, and O so far is
    # acc · unit / l_i · 256. ROWS keys share a scale of K and one of V
# --- with

# --- replace
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet
            p = tl.exp2(s - (shift[:, None] - 8.0))  # 256 times P: small probabilities stay normal numbers
# --- with
            mx2 = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
            p = tl.exp2(s - (shift[:, None] - 8.0))

# --- replace
            m_new = tl.maximum(m_i, best * c)
            shift = m_new
# --- with
            mx2 = tl.maximum(m_i, best * c)
            shift = mx2

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)  # before P is rounded
        t = t_desc.load([b, h, 0, start]).reshape(BLOCK_D, BLOCK_K)
        new = tl.dot(as_stored(p.to(t.dtype)), t.T)  # not into acc: too few bits would be kept
        acc = acc * (rescale * (unit / v_scale))[:, None] + new  # from the last block's unit into this one's
        unit = v_scale
        m_i = m_new
# --- with
        l_i = l_i * rescale + tl.sum(p, axis=1)
        t = t_desc.load([b, h, 0, start]).reshape(BLOCK_D, BLOCK_K)
        new = tl.dot(as_stored(p.to(t.dtype)), t.T)
        acc = acc * (rescale * (v_scale / unit))[:, None] + new
        unit = v_scale
        m_i = mx2

# --- replace
    # program ids as in `tuned_forward_kernel`: the same block of GROUP heads in a row, heaviest first
# --- with

# --- replace
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = acc * (unit / l_i)[:, None]  # acc and l_i both hold 256 times P
# --- with
    l_i = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc * (unit / l_i)[:, None]

# --- replace
    wide = max(32, block_d(D))  # an eight-bit product sums over 32 at least
# --- with
    wide = max(32, block_d(D))
