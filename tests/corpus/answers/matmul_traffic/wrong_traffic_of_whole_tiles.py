# label: wrong
# title: traffic of whole tiles
# says: A ragged edge has a program too: round the counts up.
# names: sizes need not divide

def traffic_of_whole_tiles(M, N, K, B_M, B_N, B_K, e):
    programs = (M / B_M) * (N / B_N)
    return e * (programs * K * (B_M + B_N) + M * N)
