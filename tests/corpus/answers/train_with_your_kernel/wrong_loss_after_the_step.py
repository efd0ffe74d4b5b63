# label: wrong
# title: loss after the step
# says: the loss is computed a second time after `adam.step()` and that one is recorded; the text asks for the
#   loss before each step.
# names: losses noted after the step

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    attend = lambda q, k, v: flash_attention(q, k, v, True)

    def loss_of(batch):
        logits = model(batch[:, :-1], attend)
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    losses = []
    for batch in batches:
        adam.zero_grad()
        loss_of(batch).backward()
        adam.step()
        with torch.no_grad():
            losses.append(loss_of(batch))
    return torch.stack(losses)
