# label: wrong
# title: plain average instead of the mean under p
# says: `sum(dp) / N` is the plain mean; the mean under p, Σ p_k dp_k, is wanted. They agree only if all
#   shares are equal or all dp are.
# names: plain mean of dp

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    N = p.rows
    average = sum(dp) / sp.Integer(N)
    return sp.Matrix([p[j] * (dp[j] - average) for j in range(N)])
