# label: wrong
# title: whole tiles are moved
# says: the two lines with `B_M * B_K` and `B_K * B_N` (and `tile_c`) charge each program for whole tiles,
#   although masked-out lanes beyond M, N and K request nothing.
# names: masked lanes counted

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    tile_a = B_M * B_K
    tile_b = B_K * B_N
    tile_c = B_M * B_N
    per_program = steps * (tile_a + tile_b) + tile_c
    return e * programs * per_program
