# label: wrong
# title: p zeroed for the dot only
# says: P is masked after l has been summed.
# names: mask after l; rows do not sum to 1
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
        s = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), NEG)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)  # without the where: 1 in rows that see nothing
# --- with
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])  # without the where: 1 in rows that see nothing

# --- replace
        acc = acc * c[:, None] + tl.dot(p, v, input_precision="ieee")
# --- with
        acc = acc * c[:, None] + tl.dot(tl.where(see, p, 0.0), v, input_precision="ieee")
