# label: wrong
# title: softmax over queries
# says: line `p`: softmax over dim 0, the queries; everything below is consistent with it
# names: softmax over the queries

from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float):
    scores = alpha * (q @ k.T)
    p = scores.softmax(dim=0)
    dv = p.T @ do
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(dim=1, keepdim=True))
    return alpha * (ds @ k), alpha * (ds.T @ q), dv
