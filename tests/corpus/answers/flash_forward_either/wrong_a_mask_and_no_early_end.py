# label: wrong
# title: a mask, and no early end
# says: Hidden tiles are multiplied.
# names: review
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
    if CAUSAL:
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
# --- with
