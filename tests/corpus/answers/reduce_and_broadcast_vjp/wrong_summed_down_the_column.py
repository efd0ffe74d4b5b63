# label: wrong
# title: summed down the column
# says: The correction in dX sums a column of dY; the mean was taken along a row.
# names: sum down the column

def reduce_and_broadcast_vjp(dY):
    M, N = dY.shape
    ones = sp.ones(1, M)
    columns = ones * dY
    return dY - ones.T * columns / N, columns
