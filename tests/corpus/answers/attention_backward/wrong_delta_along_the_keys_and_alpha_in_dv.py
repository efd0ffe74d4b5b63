# label: wrong
# title: delta as a row, and alpha in dV
# says: delta has one number per query and must be a column; dV has no alpha.
# names: constant factor; crashed

def attention_backward(q, k, v, do, alpha):
    p = torch.softmax(alpha * q @ k.T, dim=-1)
    dv = alpha * (p.T @ do)
    dp = do @ v.T
    delta = (p * dp).sum(dim=1)
    ds = p * (dp - delta)
    dq = alpha * (ds @ k)
    dk = alpha * (ds.T @ q)
    return dq, dk, dv
