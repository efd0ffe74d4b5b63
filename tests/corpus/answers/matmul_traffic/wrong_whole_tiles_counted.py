# label: wrong
# title: whole tiles counted
# says: every load is taken as a full tile: masked-out lanes of ragged tiles are counted, though they request
#   nothing; C is padded too
# names: masked lanes counted

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    grid = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * grid * (steps * per_step + B_M * B_N)
