# label: wrong
# title: flat, lse only guards
# says: lse is missing from the exponent.
# names: lse not subtracted
# base: right_a_flat_grid_over_all_elements_powers_of_two

# --- replace
    exponent = (s - lse) * 1.4426950408889634
# --- with
    exponent = s * 1.4426950408889634
