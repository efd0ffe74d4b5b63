# label: wrong
# title: stops before the diagonal
# says: `stop` is program_id * BLOCK_Q + shift, the first query's place and not one past the last one's: the
#   tile on the diagonal is left out
# names: loop ends one tile early
# base: wrong_finite_mask_value

# --- replace
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + shift)
# --- with
    stop = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + shift)

# --- replace
        s = tl.where(visible, s, -1.0e9)
# --- with
        s = tl.where(visible, s, -float("inf"))
