# label: wrong
# title: plain mean
# says: the line `mean = sum(dp) / p.rows` is the unweighted mean of dp; the expectation under p, sum of p*dp,
#   is wanted
# names: plain mean of dp

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    mean = sum(dp) / p.rows  # E[dp]
    return sp.Matrix([p[j] * (dp[j] - mean) for j in range(p.rows)])
