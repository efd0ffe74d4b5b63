# label: wrong
# title: inner product over n
# says: The inner product is divided by N; its weights already sum to 1.
# names: inner product divided by N
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    out = pg - p * tl.sum(pg, axis=0)
# --- with
    out = pg - p * (tl.sum(pg, axis=0) / n)
