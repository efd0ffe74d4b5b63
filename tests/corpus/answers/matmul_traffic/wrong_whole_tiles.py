# label: wrong
# title: whole tiles
# says: lines m * B_M etc.: counts whole tiles, as if masked-out lanes requested bytes too
# names: masked lanes counted

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    m, n, k = sp.ceiling(M / B_M), sp.ceiling(N / B_N), sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * m * n * (k * per_step + B_M * B_N)
