# label: wrong
# title: < for <=
# says: Every query misses its own key.
# names: the diagonal is hidden
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
            seen = seen & (at[None, :] <= m[:, None] + S_k - S_q)
# --- with
            seen = seen & (at[None, :] < m[:, None] + S_k - S_q)
