# label: wrong
# title: layer adding rows in half
# says: Each row's share of dw is rounded to half precision when it is added.
# names: precision

def layer_adding_rows_in_half(x, w, dy):
    dw = torch.zeros_like(w)
    for row, grad in zip(x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1]), strict=True):
        dw = dw + torch.outer(row, grad)
    return dy @ w.T, dw
