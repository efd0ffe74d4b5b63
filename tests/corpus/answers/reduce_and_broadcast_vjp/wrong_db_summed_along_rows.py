# label: wrong
# title: db summed along rows
# says: db sums rows; it needs one number per column.
# names: wrong shape

def db_summed_along_rows(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N) / N), (dY * sp.ones(N, 1)).T
