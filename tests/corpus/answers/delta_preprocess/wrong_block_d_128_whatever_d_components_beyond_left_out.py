# label: wrong
# title: BLOCK_D = 128
# says: BLOCK_D is 128 whatever D is: the components beyond are left out of the sum.
# names: only the first tile; last tile missing
# base: right_a_three_dimensional_grid

# --- replace
        o, do, delta, *o.stride(), *do.stride(), H, S, D, BLOCK_M=16, BLOCK_D=triton.next_power_of_2(D))
# --- with
        o, do, delta, *o.stride(), *do.stride(), H, S, D, BLOCK_M=16, BLOCK_D=128)
