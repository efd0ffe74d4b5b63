# label: wrong
# title: layer with view
# says: view refuses a tensor that is transposed in memory.
# names: crashed

def layer_with_view(x, w, dy):
    dw = x.view(-1, x.shape[-1]).T @ dy.view(-1, dy.shape[-1])
    return dy @ w.T, dw
