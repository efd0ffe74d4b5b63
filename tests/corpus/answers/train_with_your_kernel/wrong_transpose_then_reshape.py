# label: wrong
# title: transpose then reshape
# says: logits.transpose(1, 2).reshape(-1, n_chars) mixes positions and characters: after the transpose the
#   rows of the reshaped matrix are no longer one position each (either transpose, or flatten the first two
#   dimensions, not both).
# names: logits turned and then flattened

from functools import partial
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    opt = training.optimizer(model)
    attention = partial(flash_attention, causal=True)
    history = torch.zeros(len(batches), device=batches.device)
    for step, batch in enumerate(batches):
        inputs, targets = batch[:, :-1], batch[:, 1:]
        opt.zero_grad(set_to_none=True)
        logits = model(inputs, attention)
        n_chars = logits.shape[-1]
        # cross_entropy wants the classes in dimension 1
        loss = F.cross_entropy(logits.transpose(1, 2).reshape(-1, n_chars), targets.reshape(-1))
        loss.backward()
        opt.step()
        history[step] = loss.detach()
    return history
