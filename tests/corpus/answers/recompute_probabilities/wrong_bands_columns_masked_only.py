# label: wrong
# title: bands, columns masked only
# says: The rows are not masked: the last band reaches beyond s and p.
# names: rows not masked; out_of_bounds
# base: right_one_program_per_band_rows_inf_in_place_minus_inf

# --- replace
        ok = (i < M)[:, None] & (j < N)[None, :]
# --- with
        ok = (i >= 0)[:, None] & (j < N)[None, :]
