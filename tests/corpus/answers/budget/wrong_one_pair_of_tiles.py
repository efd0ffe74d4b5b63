# label: wrong
# title: one pair of tiles
# says: Each buffer holds a pair of tiles: multiply by buffers.
# names: buffers forgotten
# base: right_limits_in_a_list_whole_numbers_by_math_ceil

# --- replace
    shared = buffers * block_k * (block_m + block_n) * size
# --- with
    shared = block_k * (block_m + block_n) * size
