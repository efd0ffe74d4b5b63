# label: wrong
# title: bands, the loop too short
# says: The last columns are never written: the loop stops before the incomplete block.
# names: never written; last tile missing
# base: right_one_program_per_band_rows_inf_in_place_minus_inf

# --- replace
    for c in range(0, N, BC):
# --- with
    for c in range(0, N - BC + 1, BC):
