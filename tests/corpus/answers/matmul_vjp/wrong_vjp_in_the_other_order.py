# label: wrong
# title: vjp in the other order
# says: dX and dW are in each other's place.
# names: swapped; outputs exchanged; wrong shape

def vjp_in_the_other_order(X, W, dY):
    return X.T * dY, dY * W.T
