# label: wrong
# title: i = tl.minimum(i0 + tl.arange(0, BQ), S_q - 1)
# says: The rows are clamped: padded queries are the last one again.
# names: padded queries repeat the last one
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        i = i0 + tl.arange(0, BQ)
# --- with
        i = tl.minimum(i0 + tl.arange(0, BQ), S_q - 1)
