# label: right
# title: sums over entries

def dv_dp_by_entries(p, v, do):
    dv = sp.zeros(*v.shape)
    dp = sp.zeros(*p.shape)
    for i in range(p.rows):
        for j in range(p.cols):
            dv[j, :] += p[i, j] * do[i, :]
            dp[i, j] = do[i, :].dot(v[j, :])
    return dv, dp
