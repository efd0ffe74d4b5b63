# label: wrong
# title: dv dp averaged
# says: dV is averaged over the queries; gradients add.
# names: dV averaged over the queries

def dv_dp_averaged(p, v, do):
    mean = sp.zeros(*v.shape)
    for i in range(p.rows):
        mean += p[i, :].T * do[i, :] / p.rows
    return mean, do * v.T
