# label: wrong
# title: lse without its share
# says: dlse comes with the share p_j.
# names: dLSE without p

def lse_without_its_share(p, dp, dlse):
    return p.multiply_elementwise(dp - p.dot(dp) * sp.ones(p.rows, 1)) + dlse * sp.ones(p.rows, 1)
