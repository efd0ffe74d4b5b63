# label: wrong
# title: logits reshaped instead of transposed
# says: `logits.reshape(B, -1, S)` reads the memory in another order, it does not swap positions and
#   characters; the loss compares mixed-up logits
# names: logits reshaped instead of transposed

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""

    def attention(q, k, v):
        return flash_attention(q, k, v, causal=True)

    model = training.Transformer(size, start)
    optimizer = training.optimizer(model)
    curve = []
    for batch in batches:
        read, target = batch[:, :-1], batch[:, 1:]
        B, S = target.shape
        optimizer.zero_grad()
        logits = model(read, attention)
        loss = F.cross_entropy(logits.reshape(B, -1, S), target)  # cross_entropy wants the classes second
        loss.backward()
        optimizer.step()
        curve.append(loss.detach())
    return torch.stack(curve)
