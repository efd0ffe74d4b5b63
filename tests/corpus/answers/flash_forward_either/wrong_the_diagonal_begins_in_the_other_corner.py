# label: wrong
# title: no S_k - S_q
# says: The diagonal begins in the other corner.
# names: top-left alignment
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
# --- with
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM)

# --- replace
            seen = seen & (at[None, :] <= m[:, None] + S_k - S_q)
# --- with
            seen = seen & (at[None, :] <= m[:, None])
