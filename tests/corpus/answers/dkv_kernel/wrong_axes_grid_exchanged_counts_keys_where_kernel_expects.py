# label: wrong
# title: (triton.cdiv(N, BN), triton.cdiv(M, BM), B * H)
# says: The axes of the grid are exchanged: it counts keys where the kernel expects queries.
# names: never read; last tile missing; only the first tile
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
    grid = (B * H, triton.cdiv(N, BN), triton.cdiv(M, BM))
# --- with
    grid = (B * H, triton.cdiv(M, BM), triton.cdiv(N, BN))
