# label: wrong
# title: N // 16
# says: The grid has only whole tiles of keys.
# names: the last, incomplete block of keys is left out; last tile missing
# base: right_one_program_per_pair_tiles_dq_added_atomically_in

# --- replace
    grid = (triton.cdiv(N, 16), triton.cdiv(M, 32), B * H)
# --- with
    grid = (N // 16, triton.cdiv(M, 32), B * H)
