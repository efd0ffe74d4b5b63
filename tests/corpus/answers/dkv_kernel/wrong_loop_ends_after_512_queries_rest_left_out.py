# label: wrong
# title: i0 = (tl.minimum(S_q, 512) - 1) // BQ * BQ
# says: The loop ends after 512 queries: the rest are left out.
# names: last tile missing; only the first tile
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
    i0 = (S_q - 1) // BQ * BQ
# --- with
    i0 = (tl.minimum(S_q, 512) - 1) // BQ * BQ
