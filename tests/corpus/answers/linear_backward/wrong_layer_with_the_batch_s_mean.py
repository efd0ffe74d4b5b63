# label: wrong
# title: layer with the batch s mean
# says: Your dw is averaged over the batch: gradients add.
# names: constant factor

def layer_with_the_batch_s_mean(x, w, dy):
    dw = x.transpose(-1, -2) @ dy
    if dw.dim() == 3:
        dw = dw.mean(0)
    return dy @ w.T, dw
