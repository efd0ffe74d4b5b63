# label: wrong
# title: shift = 0 / m_i + tl.log2(l_i))
# says: Two mistakes: top-left alignment, and LSE left in base 2.
# names: top-left alignment + LSE in base 2
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    shift = N - M
# --- with
    shift = 0

# --- replace
    lse = tl.where(nothing, float("-inf"), (m_i + tl.log2(l_i)) / 1.4426950408889634)
# --- with
    lse = tl.where(nothing, float("-inf"), m_i + tl.log2(l_i))
