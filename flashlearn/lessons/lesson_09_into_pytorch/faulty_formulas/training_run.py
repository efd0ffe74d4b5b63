"""Training runs that go wrong: the loop of `training.train` with faults by name."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from flashlearn.lessons.lesson_09_into_pytorch import training
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults


def unmasked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention that sees the future."""
    return F.scaled_dot_product_attention(q, k, v)


def training_run(size: training.Size, start: Tensor, batches: Tensor, faults: Faults = NONE) -> Tensor:
    """The losses [steps] of the training loop with some things changed."""
    attention = unmasked if "no mask" in faults else training.sdpa

    def loss_of(batch: Tensor) -> Tensor:
        first = 0 if "targets not shifted" in faults else 1
        wanted = batch[:, first : first + size.context]
        logits = model(batch[:, :-1], attention)
        if "last position only" in faults:
            wanted, logits = wanted[:, -1:], logits[:, -1:]
        reduction = "sum" if "losses summed" in faults else "mean"
        if "logits reshaped" in faults:
            B, S, characters = logits.shape
            return F.cross_entropy(logits.reshape(B, characters, S), wanted, reduction=reduction)
        if "logits turned and flattened" in faults:
            logits = logits.mT.reshape(logits.shape)
        return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction=reduction)

    with torch.enable_grad(), training.one_thread():
        model = training.Transformer(size, start)
        adam = training.optimizer(model)
        losses = []
        for batch in batches:
            adam = training.optimizer(model) if "new optimiser" in faults else adam
            loss = loss_of(batch)
            if "gradients pile up" not in faults:
                adam.zero_grad()
            loss.backward()
            if "no step" not in faults:
                adam.step()
            losses.append((loss_of(batch) if "noted after the step" in faults else loss).detach())
        return torch.stack(losses)
