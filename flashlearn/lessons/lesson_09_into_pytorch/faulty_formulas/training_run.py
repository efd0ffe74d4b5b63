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


def unscaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention whose scores are q · k itself."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)


ATTENTIONS = {
    "no mask": unmasked,
    "alpha of 1": unscaled,
    "q and k exchanged": lambda q, k, v: training.sdpa(k, q, v),
    "k and v exchanged": lambda q, k, v: training.sdpa(q, v, k),
}
"""What the model gets as its attention, by fault."""


def training_run(size: training.Size, start: Tensor, batches: Tensor, faults: Faults = NONE) -> Tensor:
    """The losses [steps] of the training loop with some things changed."""
    attention = next((one for name, one in ATTENTIONS.items() if name in faults), training.sdpa)

    def loss_of(batch: Tensor) -> Tensor:
        first = 0 if "targets not shifted" in faults else 1
        read, wanted = batch[:, :-1], batch[:, first : first + size.context]
        if "read and wanted exchanged" in faults:
            read, wanted = wanted, read
        logits = model(read, attention)
        if "probabilities for logits" in faults:
            logits = logits.softmax(-1)
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
