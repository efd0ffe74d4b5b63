# label: wrong
# title: i0 = S_q // BQ * BQ - BQ
# says: The scan starts at the last full tile: what comes after it is left out.
# names: the last, incomplete block of queries is left out; last tile missing
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
    i0 = (S_q - 1) // BQ * BQ
# --- with
    i0 = S_q // BQ * BQ - BQ
