# label: wrong
# title: rows, alpha unused
# says: The earlier sum is not rescaled when the maximum moves.
# names: l not rescaled; not rescaled
# base: right_four_rows_per_program

# --- replace
        l_i = l_i * alpha + tl.sum(tl.exp(x - m_safe[:, None]), 1)
# --- with
        l_i = l_i + tl.sum(tl.exp(x - m_safe[:, None]), 1)
