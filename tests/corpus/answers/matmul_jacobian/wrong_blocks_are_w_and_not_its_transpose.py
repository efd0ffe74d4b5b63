# label: wrong
# title: blocks are W and not its transpose
# says: The blocks on the diagonal are W; outputs run down and inputs run across, so each block must be W.T
#   [N, K]. What is returned is the transpose of the Jacobian, of shape [M K, M N].
# names: W where Wᵀ belongs

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """one copy of W for each row of X"""
    blocks = []
    for row in range(X.rows):
        blocks.append(W)
    return sp.diag(*blocks)
