# label: right
# title: floors of shifted quotients

def traffic_with_floors(M, N, K, B_M, B_N, B_K, e):
    across = sp.floor((N + B_N - 1) / B_N)
    down = sp.floor((M + B_M - 1) / B_M)
    loads = across * M * K + down * N * K
    return (loads + M * N) * e
