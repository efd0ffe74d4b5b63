# label: wrong
# title: bands, no exp
# says: The exponential is missing: this is log P.
# names: logarithm of P
# base: right_one_program_per_band_rows_inf_in_place_minus_inf

# --- replace
    lse = tl.where(lse == float("-inf"), float("inf"), lse)  # exp(s - inf) is 0
# --- with
    lse = tl.where(lse == float("-inf"), 0.0, lse)

# --- replace
        tl.store(p_ptr + i[:, None] * N + j[None, :], tl.exp(s - lse[:, None]), mask=ok)
# --- with
        tl.store(p_ptr + i[:, None] * N + j[None, :], s - lse[:, None], mask=ok)
