# label: wrong
# title: Where alpha is 0 the factor meets −∞.
# says: Where alpha is 0 the factor meets −∞.
# names: 0 · ∞; zero times inf
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
    c = tl.abs(alpha) * 1.4426950408889634 + 1e-30
# --- with
    c = tl.abs(alpha) * 1.4426950408889634
