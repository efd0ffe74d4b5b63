# label: wrong
# title: a factor of one
# says: acc is rescaled by the factor of the next step: after m_i was updated it is 1.
# names: acc is not rescaled
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = acc * tl.exp(m_new - m_new)[:, None] + pv
