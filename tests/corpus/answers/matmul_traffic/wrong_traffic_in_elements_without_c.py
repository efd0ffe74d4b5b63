# label: wrong
# title: traffic in elements without c
# says: The bytes per element are missing, and C is: two mistakes.
# names: elements, not bytes + C left out

def traffic_in_elements_without_c(M, N, K, B_M, B_N, B_K, e):
    return M * K * sp.ceiling(N / B_N) + N * K * sp.ceiling(M / B_M)
