# label: wrong
# title: mean minus gradient
# says: Both signs of the centring are wrong: dX is mean minus dY.
# names: sign

def mean_minus_gradient(dY):
    means = [sum(dY[i, :]) / dY.cols for i in range(dY.rows)]
    dX = sp.Matrix(dY.rows, dY.cols, lambda i, j: means[i] - dY[i, j])
    return dX, sp.ones(1, dY.rows) * dY
