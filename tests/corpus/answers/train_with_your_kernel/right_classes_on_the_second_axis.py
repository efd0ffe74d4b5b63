# label: right
# title: classes on the second axis

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    net = training.Transformer(size, start)
    opt = training.optimizer(net)
    curve = []
    for one in batches.unbind(0):
        read, wanted = one[:, :-1], one[:, 1:]
        scores = net(read, lambda q, k, v: flash_attention(q, k, v, True))
        loss = F.cross_entropy(scores.transpose(1, 2), wanted)
        curve.append(loss.detach().clone())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return torch.stack(curve)
