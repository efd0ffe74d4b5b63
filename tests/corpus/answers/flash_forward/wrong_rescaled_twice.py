# label: wrong
# title: rescaled twice
# says: acc is rescaled a second time, after the sum.
# names: first divergence; not rescaled; one edit; the new product is rescaled too + acc rescaled twice
# base: _course_solution

# --- replace
        m_i = m_new
# --- with
        acc = acc * rescale[:, None]
        m_i = m_new
