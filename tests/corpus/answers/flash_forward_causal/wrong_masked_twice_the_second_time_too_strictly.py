# label: wrong
# title: masked twice, the second time too strictly
# says: A second mask, after the right one, hides the last key that a query may see.
# names: first divergence; the diagonal is hidden
# base: _course_solution

# --- replace
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
# --- with
        s = tl.where(columns[None, :] < last_seen[:, None], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
