# label: right
# title: counts programs of masked tiles


def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
    down = -(-M // B_M)
    across = -(-N // B_N)
    rows_of_a, columns_of_b = M * K, K * N
    return e * M * N + e * (across * rows_of_a + down * columns_of_b)
