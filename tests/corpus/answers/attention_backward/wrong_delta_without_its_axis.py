# label: wrong
# title: delta without its axis
# says: delta has one dimension, and is lined up with the keys where it is subtracted.
# names: one edit

def attention_backward(q, k, v, do, alpha):
    p = torch.softmax(alpha * q @ k.T, dim=1)
    o = p @ v
    delta = (do * o).sum(1)
    ds = p * (do @ v.T - delta)
    return alpha * ds @ k, alpha * ds.T @ q, p.T @ do
