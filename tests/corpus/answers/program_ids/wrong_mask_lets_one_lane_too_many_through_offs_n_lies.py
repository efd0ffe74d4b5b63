# label: wrong
# title: 2-D grid, mask <= n
# says: The mask lets one lane too many through: offs == n lies beyond ids.
# names: out_of_bounds
# base: right_a_two_dimensional_grid

# --- replace
    tl.store(out_ptr + offs, which, mask=offs < n)
# --- with
    tl.store(out_ptr + offs, which, mask=offs <= n)
