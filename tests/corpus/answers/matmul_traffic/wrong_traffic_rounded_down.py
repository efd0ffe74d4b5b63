# label: wrong
# title: traffic rounded down
# says: The counts are rounded down, so ragged edges are lost.
# names: rounded down

def traffic_rounded_down(M, N, K, B_M, B_N, B_K, e):
    return e * (M * K * sp.floor(N / B_N) + K * N * sp.floor(M / B_M) + M * N)
