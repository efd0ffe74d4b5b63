# label: wrong
# title: c written every step
# says: C is counted once for every step along K (factor ceiling(K / B_K)), though the accumulator stays in
#   registers and C is stored once
# names: C once per step

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    steps = sp.ceiling(K / B_K)
    a = M * K * sp.ceiling(N / B_N)
    b = K * N * sp.ceiling(M / B_M)
    c = M * N * steps
    return (a + b + c) * e
