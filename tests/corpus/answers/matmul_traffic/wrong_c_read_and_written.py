# label: wrong
# title: c read and written
# says: line `return`: C is counted for each step of K, as if the tile were written back in every step
# names: C once per step

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    a_bytes = M * K * sp.ceiling(N / B_N)
    b_bytes = K * N * sp.ceiling(M / B_M)
    c_bytes = M * N * sp.ceiling(K / B_K)
    return (a_bytes + b_bytes + c_bytes) * e
