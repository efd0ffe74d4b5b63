# label: wrong
# title: traffic the wrong way round
# says: A is loaded once per block of columns, not of rows.
# names: rows and columns exchanged

def traffic_the_wrong_way_round(M, N, K, B_M, B_N, B_K, e):
    return e * (K * M * sp.ceiling(M / B_M) + K * N * sp.ceiling(N / B_N) + M * N)
