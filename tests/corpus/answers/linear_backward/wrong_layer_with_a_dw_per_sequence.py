# label: wrong
# title: layer with a dw per sequence
# says: w served the whole batch: add its gradients.
# names: dw for each batch element; shape

def layer_with_a_dw_per_sequence(x, w, dy):
    return dy @ w.T, torch.matmul(x.transpose(-2, -1), dy)
