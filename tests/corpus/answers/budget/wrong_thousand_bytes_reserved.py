# label: wrong
# title: a thousand bytes reserved
# says: The system takes 1 KiB of shared memory for each block, 1024 bytes and not 1000.
# names: one edit; a thousand bytes reserved
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
        gpu.shared_per_sm // (shared + 1024),
# --- with
        gpu.shared_per_sm // (shared + 1000),
