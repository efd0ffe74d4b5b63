# label: wrong
# title: the columns of B in whole blocks, and C's accumulator is fp32
# says: two: masked columns of B's tile are counted, and C with four bytes
# names: C in fp32 + masked lanes counted

def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
    columns, rows = sp.ceiling(N / B_N), sp.ceiling(M / B_M)
    a = columns * M * K * e
    b = rows * columns * B_N * K * e
    return a + b + 4 * M * N
