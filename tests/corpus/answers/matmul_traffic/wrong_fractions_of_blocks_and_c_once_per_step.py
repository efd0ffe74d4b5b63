# label: wrong
# title: fractions of blocks, and C once per step
# says: Two mistakes: N / B_N and M / B_M are not rounded up (70 columns in blocks of 64 are two requests, not
#   1.09); and C is counted ceiling(K / B_K) times, though it stays in registers and is stored once.
# names: sizes need not divide + C once per step

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    return e * (M * K * N / B_N + K * N * M / B_M + M * N * sp.ceiling(K / B_K))
