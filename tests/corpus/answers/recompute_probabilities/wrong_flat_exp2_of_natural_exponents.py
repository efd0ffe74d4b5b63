# label: wrong
# title: flat, exp2 of natural exponents
# says: exp2 without log2 e.
# names: powers of two
# base: right_a_flat_grid_over_all_elements_powers_of_two

# --- replace
    exponent = (s - lse) * 1.4426950408889634
# --- with
    exponent = s - lse
