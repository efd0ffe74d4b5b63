# label: wrong
# title: divided in the loop too
# says: acc is divided by l in every round.
# names: divided in every step + divided by l twice; divided in every step
# base: _course_solution

# --- replace
        m_i = m_new
# --- with
        acc = acc / l_i[:, None]
        m_i = m_new
