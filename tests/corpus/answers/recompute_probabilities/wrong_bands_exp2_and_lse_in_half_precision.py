# label: wrong
# title: bands, exp2 and lse in half precision
# says: Powers of two, and lse rounded to half precision: two mistakes.
# names: powers of two + lse in half precision; powers of two + precision; powers of two
# base: right_one_program_per_band_rows_inf_in_place_minus_inf

# --- replace
        tl.store(p_ptr + i[:, None] * N + j[None, :], tl.exp(s - lse[:, None]), mask=ok)
# --- with
        tl.store(p_ptr + i[:, None] * N + j[None, :], tl.exp2(s - lse[:, None]), mask=ok)

# --- replace
    p = torch.empty((M, N), dtype=s.dtype)
# --- with
    lse = lse.to(s.dtype)
    p = torch.empty((M, N), dtype=s.dtype)
