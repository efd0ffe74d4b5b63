# label: wrong
# title: divided by warps alone
# says: The accumulator is shared by 32 threads of each warp, not by the warps alone.
# names: accumulator of a warp
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
    accumulator = sp.Rational(block_m * block_n, threads)
# --- with
    accumulator = sp.Rational(block_m * block_n, warps)
