# label: wrong
# title: vjp with numpy s mean
# says: The mean of dp is taken under p, not over the entries.
# names: plain mean of dp

def vjp_with_numpy_s_mean(p, dp):
    mean = sum(dp) / len(dp)
    return sp.Matrix([p[i] * (dp[i] - mean) for i in range(len(p))])
