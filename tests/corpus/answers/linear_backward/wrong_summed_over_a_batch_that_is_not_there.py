# label: wrong
# title: summed over a batch that is not there
# says: dw is summed over its first dimension as if there were always a batch, and stays fp32.
# names: shape

def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = dy @ w.mT
    dw = (x.float().mT @ dy.float()).sum(0)
    return dx, dw
