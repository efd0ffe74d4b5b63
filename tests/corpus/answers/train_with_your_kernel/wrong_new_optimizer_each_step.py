# label: wrong
# title: new optimizer each step
# says: one_step makes a new optimizer = training.optimizer(model) for every batch, so AdamW forgets its
#   moments and its step count each time; it has to be made once before the loop.
# names: a new optimiser for every step

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def one_step(model: training.Transformer, batch: Tensor) -> Tensor:
    optimizer = training.optimizer(model)
    read, expected = batch[:, :-1], batch[:, 1:]
    logits = model(read, lambda q, k, v: flash_attention(q, k, v, causal=True))
    loss = F.cross_entropy(logits.flatten(end_dim=1), expected.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    return torch.stack([one_step(model, batch) for batch in batches])
