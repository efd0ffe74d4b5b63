# label: wrong
# title: delta outside the product
# says: `ds = p * dp - delta`: delta is subtracted outside the product instead of from dP.
# names: one edit

from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    P = (q @ k.mT * alpha).softmax(-1)
    O = P @ v
    dV = P.mT @ do
    dP = do @ v.mT
    delta = torch.sum(O * do, -1, keepdim=True)
    dS = P * dP - delta
    return alpha * (dS @ k), alpha * (dS.mT @ q), dV
