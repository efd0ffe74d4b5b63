# label: wrong
# title: N // 16
# says: The grid has only whole tiles of keys.
# names: the last, incomplete block of keys is left out; last tile missing
# base: right_one_program_per_pair_tiles_dq_added_atomically_in

# --- replace
    n0, m0, bh = tl.program_id(2) * BN, tl.program_id(1) * BM, tl.program_id(0)
# --- with
    n0, m0, bh = tl.program_id(0) * BN, tl.program_id(1) * BM, tl.program_id(2)

# --- replace
    grid = (B * H, triton.cdiv(M, 32), triton.cdiv(N, 16))
# --- with
    grid = (N // 16, triton.cdiv(M, 32), B * H)
