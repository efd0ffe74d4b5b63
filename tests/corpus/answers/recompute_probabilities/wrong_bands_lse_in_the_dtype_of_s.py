# label: wrong
# title: bands, lse in the dtype of s
# says: lse is rounded to half precision before it is subtracted.
# names: lse in half precision; precision
# base: right_one_program_per_band_rows_inf_in_place_minus_inf

# --- replace
    p = torch.empty((M, N), dtype=s.dtype)
# --- with
    lse = lse.to(s.dtype)
    p = torch.empty((M, N), dtype=s.dtype)
