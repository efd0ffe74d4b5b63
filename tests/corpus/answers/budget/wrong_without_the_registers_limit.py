# label: wrong
# title: without the registers' limit
# says: Registers are not among the limits.
# names: limited by shared memory alone
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
        gpu.registers_per_sm // (per_thread * threads),
# --- with
