# label: wrong
# title: occupancy in percent
# says: The occupancy came back in percent.
# names: occupancy in percent; constant factor
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
    return accumulator, shared, sp.Rational(blocks * warps, gpu.warps_per_sm)
# --- with
    return accumulator, shared, sp.Rational(100 * blocks * warps, gpu.warps_per_sm)
