# label: wrong
# title: flat, no guard
# says: A row of nothing but −inf is NaN: −inf − (−inf).
# names: −inf minus −inf; inf minus inf
# base: right_a_flat_grid_over_all_elements_powers_of_two

# --- replace
    p = tl.where(lse == -float("inf"), 0.0, tl.exp2(exponent))
# --- with
    p = tl.exp2(exponent)
