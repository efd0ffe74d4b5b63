# label: wrong
# title: shared in elements
# says: Shared memory is asked for in bytes.
# names: elements, not bytes
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
    shared = buffers * block_k * (block_m + block_n) * size
# --- with
    shared = buffers * block_k * (block_m + block_n)
