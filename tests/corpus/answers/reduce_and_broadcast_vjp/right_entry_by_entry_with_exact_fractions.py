# label: right
# title: entry by entry, with exact fractions

def centred_by_entries(dY):
    M, N = dY.shape
    dX = sp.zeros(M, N)
    for i in range(M):
        for j in range(N):
            dX[i, j] = dY[i, j] - sp.Rational(1, N) * sum(dY[i, l] for l in range(N))  # noqa: E741
    return dX, sp.Matrix([[sum(dY[i, j] for i in range(M)) for j in range(N)]])
