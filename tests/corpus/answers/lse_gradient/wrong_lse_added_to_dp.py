# label: wrong
# title: lse added to dp
# says: dlse was added to dp before delta was taken, and cancels.
# names: dLSE forgotten

def lse_added_to_dp(p, dp, dlse):
    dp = dp + dlse * sp.ones(p.rows, 1)
    return p.multiply_elementwise(dp - p.dot(dp) * sp.ones(p.rows, 1))
