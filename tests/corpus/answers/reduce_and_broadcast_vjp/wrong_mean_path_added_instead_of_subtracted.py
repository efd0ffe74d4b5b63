# label: wrong
# title: mean path added instead of subtracted
# says: The mean is subtracted forward, so its path comes back with a minus: dX = dY − row means. Here both
#   paths are added with a plus; wrong for any dY with a row that does not sum to zero.
# names: the mean is added

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.rows, dY.cols
    direct = dY
    through_mean = (dY * sp.ones(N, 1)) * sp.ones(1, N) / N
    dX = direct + through_mean  # used twice: gradients add
    db = sp.ones(1, M) * dY
    return dX, db
