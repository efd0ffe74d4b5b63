# label: wrong
# title: two mistakes: targets not shifted, gradients never cleared
# says: The targets are `batch[:, :-1]`, the characters just read, instead of the next ones, batch[:, 1:]. And
#   zero_grad is called once before the loop: from the second step on the gradients of all earlier batches are
#   in the sum.
# names: targets not shifted + gradients pile up

import torch.nn.functional as F
from flashlearn.kernels.attention import flash_attention
from functools import partial
from flashlearn.lessons.lesson_09_into_pytorch import training

def train_with_your_kernel(size: training.Size, start, batches):
    model = training.Transformer(size, start)
    optimizer = training.optimizer(model)
    attention = partial(flash_attention, causal=True)
    history = torch.zeros(len(batches))
    optimizer.zero_grad()
    for step in range(len(batches)):
        read = batches[step, :, :-1]
        logits = model(read, attention)
        n_chars = logits.shape[-1]
        loss = F.cross_entropy(logits.reshape(-1, n_chars), read.reshape(-1))
        history[step] = loss.detach()
        loss.backward()
        optimizer.step()
    return history
