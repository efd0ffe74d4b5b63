# label: wrong
# title: bh, i0, j0 = tl.program_id(2), tl.program_id(0) * (BM // 2)
# says: One tile of queries is counted twice: the blocks overlap.
# names: tiles counted twice; written twice; last tile missing
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
    bh, i0, j0 = tl.program_id(0), tl.program_id(2) * BM, tl.program_id(1) * BN
# --- with
    bh, i0, j0 = tl.program_id(0), tl.program_id(2) * (BM // 2), tl.program_id(1) * BN
