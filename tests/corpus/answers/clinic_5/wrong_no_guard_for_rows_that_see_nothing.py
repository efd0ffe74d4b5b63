# label: wrong
# title: no guard for rows that see nothing
# says: `s = tl.where(seen, s, -float('inf'))` masks before the maximum without a guard: for queries that see
#   nothing -inf - (-inf) makes NaN in p, rescale and l_i.
# names: rows that see nothing are NaN
# base: _clinic_5_kernel

# --- replace
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
# --- with
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))

# --- replace
        p = tl.where(seen, p, 0.0)
# --- with
