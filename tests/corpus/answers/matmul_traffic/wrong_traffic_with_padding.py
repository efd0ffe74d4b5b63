# label: wrong
# title: traffic with padding
# says: Masked lanes request nothing; you counted whole tiles.
# names: masked lanes counted

def traffic_with_padding(M, N, K, B_M, B_N, B_K, e):
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_program = steps * (B_M * B_K + B_K * B_N) + B_M * B_N
    return e * programs * per_program
