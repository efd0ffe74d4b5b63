# label: wrong
# title: BLOCK_D = 64
# says: BLOCK_D is 64 whatever D is.
# names: never written; only the first tile; last tile missing
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))
# --- with
    BLOCK_D = 64
