# label: wrong
# title: traffic in elements
# says: These are elements; multiply by e.
# names: elements, not bytes; factor

def traffic_in_elements(M, N, K, B_M, B_N, B_K, e):
    return M * K * sp.ceiling(N / B_N) + N * K * sp.ceiling(M / B_M) + M * N
