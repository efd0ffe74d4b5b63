# label: wrong
# title: without the 1024
# says: 1 KiB of the system's is missing for each block.
# names: no shared memory reserved
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
        gpu.shared_per_sm // (shared + 1024),
# --- with
        gpu.shared_per_sm // shared,
