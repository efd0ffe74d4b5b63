# label: wrong
# title: C counted with the accumulator's four bytes
# says: the store converts the sum to C's dtype, e bytes
# names: C in fp32

def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
    across = sp.ceiling(N / B_N)
    down = sp.ceiling(M / B_M)
    loaded = (across * M + down * N) * K * e
    accumulators = M * N * 4
    return loaded + accumulators
