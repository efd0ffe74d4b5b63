# label: wrong
# title: idle lanes counted as bytes
# says: Every program is charged for whole tiles. Lanes that a mask switches off request nothing, so A costs
#   M·K per block of columns, and C just M·N; too large as soon as a size is no multiple of its block.
# names: masked lanes counted

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * programs * (steps * per_step + B_M * B_N)
