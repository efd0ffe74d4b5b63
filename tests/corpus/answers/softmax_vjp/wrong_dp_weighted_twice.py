# label: wrong
# title: dp weighted twice
# says: line `centre`: the mean of dp is the plain mean over N, not the one weighted by p
# names: plain mean of dp

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    N = p.rows
    centre = sum(dp) / N
    return sp.Matrix([p[j] * (dp[j] - centre) for j in range(N)])
