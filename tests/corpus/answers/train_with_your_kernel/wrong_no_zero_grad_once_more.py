# label: wrong
# title: no zero grad, once more
# says: line `adam.zero_grad()` is missing: gradients pile up
# names: gradients pile up

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    losses = []
    for batch in batches:
        logits = model(batch[:, :-1], lambda q, k, v: flash_attention(q, k, v, causal=True))
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return torch.stack(losses)
