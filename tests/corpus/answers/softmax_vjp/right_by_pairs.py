# label: right
# title: by pairs

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    n = p.rows
    return sp.Matrix(n, 1, lambda j, _: p[j] * dp[j] - sum(p[j] * p[k] * dp[k] for k in range(n)))
