# label: wrong
# title: ds in k order
# says: line `delta`: keepdim forgotten, so delta is subtracted along the keys (or does not broadcast)
# names: crashed

from torch import Tensor
from flashlearn.lessons.lesson_03_attention_backward.one_walk import dq


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float):
    p = torch.softmax(q @ k.T * alpha, -1)
    o = p @ v
    dv = p.T @ do
    delta = (do * o).sum(-1)
    ds = p * (do @ v.T - delta)
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    return dq, dk, dv
