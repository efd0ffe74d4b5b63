# label: wrong
# title: layer in the other order
# says: dx and dw are returned in the other order.
# names: outputs exchanged; shape; swapped

def layer_in_the_other_order(x, w, dy):
    dx = dy @ w.T
    dw = x.flatten(0, -2).T @ dy.flatten(0, -2)
    return dw, dx
