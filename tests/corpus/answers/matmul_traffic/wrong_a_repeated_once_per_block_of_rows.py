# label: wrong
# title: A repeated once per block of rows
# says: The two factors are exchanged: A is asked for once per block of *columns*, ceiling(N / B_N), and B
#   once per block of rows, ceiling(M / B_M). Hidden only where the two counts are equal.
# names: rows and columns exchanged

def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    row_blocks = sp.ceiling(M / B_M)
    column_blocks = sp.ceiling(N / B_N)
    a = M * K * row_blocks
    b = K * N * column_blocks
    c = M * N
    return (a + b + c) * e
