# label: wrong
# title: unique bytes
# says: counts each matrix once, M·K + K·N + M·N: the unique bytes, not the requested ones.
# names: each byte once

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    return e * (M * K + K * N + M * N)
