# label: right
# title: a loop over the batch that adds in fp32

def layer_by_looping(x, w, dy):
    dw = torch.zeros(w.shape)
    for xb, db in zip(x.reshape(-1, *x.shape[-2:]), dy.reshape(-1, *dy.shape[-2:]), strict=True):
        dw.addmm_(xb.float().T, db.float())
    return torch.matmul(dy, w.transpose(0, 1)), dw.to(w.dtype)
