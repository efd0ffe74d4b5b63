"""Where the course leads: one step of a small model, and what its attention keeps for the backward pass.

    >>> step = one_step("to be or not to be", plain)
    >>> step.loss, step.kept            # the loss, and the bytes that attention had autograd keep

`plain` stores the weights of all pairs of characters. The course's `flash_attention` has the same interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From q, k and v, each [B, H, S, D], to o of the same shape."""

HEADS, D = 2, 16


@dataclass(frozen=True)
class Step:
    """One step of training: the loss, the gradient of every parameter in one vector, and bytes kept."""

    loss: float
    gradient: Tensor
    kept: int


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q kᵀ / √D) v as the formula says it, every weight stored."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


def one_step(text: str, attention: Attention, device: str = "cpu") -> Step:
    """Guess each next character of `text` by one layer of attention, and send the loss back through it."""
    alphabet = sorted(set(text))
    characters = torch.tensor([alphabet.index(c) for c in text], device=device)
    parameters = _parameters(len(alphabet), len(text) - 1, device)
    embedding, position, to_qkv, to_logits = parameters
    x = embedding[characters[:-1]] + position  # [S, width]
    q, k, v = ((x @ w).view(1, len(x), HEADS, D).transpose(1, 2).contiguous() for w in to_qkv)
    o, kept = counted(attention, q, k, v)
    seen = o.transpose(1, 2).reshape(x.shape)
    loss = F.cross_entropy((x + seen) @ to_logits, characters[1:])
    loss.backward()
    return Step(loss.item(), torch.cat([p.grad.flatten() for p in parameters]), kept)


def kept_bytes(attention: Attention, S: int, width: int, device: str = "cpu") -> int:
    """Bytes that one head of S rows of `width` fp32 numbers has autograd keep for its backward pass."""
    q, k, v = (torch.ones(1, 1, S, width, device=device, requires_grad=True) for _ in range(3))
    return counted(attention, q, k, v)[1]


def counted(attention: Attention, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, int]:
    """What attention returns, and how many bytes it had autograd keep, every piece of memory once."""
    pieces: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        pieces[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        o = attention(q, k, v)
    return o, sum(pieces.values())


def _parameters(characters: int, positions: int, device: str) -> tuple[Tensor, ...]:
    """Embedding, positions, the three projections and the last layer, drawn from one seed."""
    generator, width = torch.Generator().manual_seed(0), HEADS * D
    shapes = ((characters, width), (positions, width), (3, width, width), (width, characters))
    drawn = (torch.randn(shape, generator=generator) / math.sqrt(width) for shape in shapes)
    return tuple(value.to(device).requires_grad_() for value in drawn)
