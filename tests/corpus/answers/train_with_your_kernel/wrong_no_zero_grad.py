# label: wrong
# title: no zero grad
# says: two: there is no zero_grad, gradients of all batches add up; and attend passes no causal flag, the
#   model sees the characters that it is to predict
# names: the model sees the future + gradients pile up

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    net = training.Transformer(size, start)
    opt = training.optimizer(net)

    def attend(q, k, v):
        return flash_attention(q, k, v)

    history = torch.empty(len(batches))
    for step, batch in enumerate(batches):
        read, target = batch[:, :-1], batch[:, 1:]
        logits = net(read, attend)
        loss = F.cross_entropy(logits.transpose(1, 2), target)
        loss.backward()
        opt.step()
        history[step] = loss.detach()
    return history
