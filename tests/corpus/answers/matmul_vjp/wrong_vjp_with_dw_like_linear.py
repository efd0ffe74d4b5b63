# label: wrong
# title: vjp with dw like linear
# says: dW lies on its side: dW has W's shape.
# names: dW transposed; wrong shape

def vjp_with_dw_like_linear(X, W, dY):
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW
