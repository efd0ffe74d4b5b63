# label: wrong
# title: future and piled gradients
# says: two: the attention is not causal, and `adam.zero_grad()` is called once before the loop, so gradients
#   add up over the batches.
# names: the model sees the future + gradients pile up

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    history = []
    adam.zero_grad()
    for batch in batches:
        x, y = batch[:, :-1], batch[:, 1:]
        logits = model(x, flash_attention)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        history.append(loss.detach())
        loss.backward()
        adam.step()
    return torch.stack(history)
