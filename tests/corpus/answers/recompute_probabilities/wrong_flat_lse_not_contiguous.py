# label: wrong
# title: flat, lse not contiguous
# says: The stride of lse is ignored.
# names: stride of lse ignored; out_of_bounds
# base: right_a_flat_grid_over_all_elements_powers_of_two

# --- replace
    lse = lse.contiguous()
# --- with
