# label: wrong
# title: lse without delta
# says: delta is missing.
# names: delta forgotten

def lse_without_delta(p, dp, dlse):
    return sp.Matrix([p[j] * (dp[j] + dlse) for j in range(p.rows)])
