# label: wrong
# title: the end alone is top-left
# says: The loop's end forgets S_k - S_q.
# names: loop end without S_k − S_q
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
# --- with
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM)
