# label: wrong
# title: mask with inf unguarded
# says: the mask was moved into s with −inf before the maximum, without a guard: a query that sees no key gets
#   exp(−inf + inf) = NaN.
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
