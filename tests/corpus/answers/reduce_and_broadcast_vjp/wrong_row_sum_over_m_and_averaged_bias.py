# label: wrong
# title: row sum over M and averaged bias
# says: Two mistakes: the row sum is divided by M (dY.rows) instead of by N, wrong whenever M ≠ N; and db is
#   divided by M, although the bias is used M times and its gradients add.
# names: row sum divided by M + db averaged

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    n_rows, n_cols = dY.shape
    row_totals = dY * sp.ones(n_cols, 1)
    dX = dY - row_totals * sp.ones(1, n_cols) / n_rows
    db = (sp.ones(1, n_rows) * dY) / n_rows
    return dX, db
