# label: wrong
# title: own bands and fp32
# says: two slips: the line `loads = ...` multiplies A by its own bands of rows and B by its own bands of
#   columns (it is the other way round), and the line `stores = 4 * M * N` charges the store of C with the
#   accumulator's four bytes; C is stored in its own dtype, e bytes per element.
# names: one edit; rows and columns exchanged + C in fp32

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    bands_of_rows, bands_of_columns = sp.ceiling(M / B_M), sp.ceiling(N / B_N)
    loads = e * K * (M * bands_of_rows + N * bands_of_columns)
    stores = 4 * M * N  # the sum is always in fp32
    return loads + stores
