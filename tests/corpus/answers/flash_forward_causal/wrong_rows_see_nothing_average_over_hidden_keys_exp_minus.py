# label: wrong
# title: tl.exp(s - m_new[:, None])
# says: Rows that see nothing average over hidden keys: exp(−1e30 + 1e30) is 1.
# names: a finite number for −inf; one edit
# base: right_minus_1e30_as_filler_guarded_by_p_where_see_0_from

# --- replace
        p = tl.where(see, tl.exp(s - m_new[:, None]), 0.0)  # without the where: 1 in rows that see nothing
# --- with
        p = tl.exp(s - m_new[:, None])  # without the where: 1 in rows that see nothing
