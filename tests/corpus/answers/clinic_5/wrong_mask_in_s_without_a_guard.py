# label: wrong
# title: mask in s without a guard
# says: the scores are masked with -inf before the maximum, but `m_new` is -inf for a query that sees nothing:
#   -inf + inf is NaN
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
