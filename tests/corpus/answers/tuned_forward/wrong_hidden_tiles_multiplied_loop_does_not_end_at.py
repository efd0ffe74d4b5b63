# label: wrong
# title: end = end + 0
# says: Hidden tiles are multiplied: the loop does not end at the diagonal.
# names: review
# base: right_nothing_tuned_one_loop_natural_exponentials_wide

# --- replace
        end = tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M)
# --- with
        end = end + 0
