# label: wrong
# title: new optimiser every batch
# says: `optimizer = training.optimizer(model)` stands inside the loop: AdamW's moments and step count begin
#   anew with every batch.
# names: a new optimiser for every step

import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)

    def attention(q, k, v):
        return flash_attention(q, k, v, causal=True)

    history = torch.empty(len(batches), device=batches.device)
    for step, batch in enumerate(batches):
        optimizer = training.optimizer(model)
        logits = model(batch[:, :-1], attention)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[step] = loss.detach()
    return history
