# label: wrong
# title: 0 where −inf belongs
# says: Hidden scores are set to 0 and take part like any other.
# names: hidden scores set to 0; one edit
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
        s = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), NEG)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)  # without the where: 1 in rows that see nothing
# --- with
        s = tl.where(see, tl.dot(q, tl.trans(k), input_precision="ieee"), 0.0)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])  # without the where: 1 in rows that see nothing
