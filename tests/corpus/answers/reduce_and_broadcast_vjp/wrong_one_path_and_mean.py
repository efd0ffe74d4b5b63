# label: wrong
# title: one path and mean
# says: two: `dX = dY` forgets the path through the mean, and db is the mean of the rows of dY (`/ rows`)
#   instead of their sum.
# names: the path through the mean forgotten + db averaged

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    rows, cols = dY.shape
    dX = dY  # x enters with factor 1
    db = sp.ones(1, rows) * dY / rows
    return dX, db
