# label: wrong
# title: 3-D grid, strides of o for do
# says: Both loads use the strides of o.
# names: strides of o used for do; out_of_bounds
# base: right_a_three_dimensional_grid

# --- replace
        o, do, delta, *o.stride(), *do.stride(), H, S, D, BLOCK_M=16, BLOCK_D=triton.next_power_of_2(D))
# --- with
        o, do, delta, *o.stride(), *o.stride(), H, S, D, BLOCK_M=16, BLOCK_D=triton.next_power_of_2(D))
