# label: wrong
# title: dW averaged over the rows
# says: dW is divided by X.rows. W is used by M rows and gets M gradients, which add; a mean is wrong for
#   every M > 1 (averaging belongs to the loss, not to the product).
# names: dW averaged over the rows

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    # every row of X is one sample of the batch
    batch = X.rows
    gradient_of_x = dY * W.T
    gradient_of_w = X.T * dY / batch
    return gradient_of_x, gradient_of_w
