"""A small character-level transformer whose attention is a parameter, and the loop that trains it.

    >>> size = SMALL                                     # lesson 09 trains SIZE: this one, or LARGE on a GPU
    >>> tokens = text(); start = initial(size, seed=0)
    >>> losses = train(size, start, batches(tokens, size, seed=0), attention=sdpa)

Two runs that are to be compared start from the same numbers and see the same batches in the same order:
`initial` and `batches` draw both on the CPU from a seed, and attention is the only thing that differs. The
model is a GPT: pre-norm blocks, learned positions, GELU, no dropout.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from flashlearn.machine import device
from flashlearn.machine.process_settings import one_thread
from flashlearn.processes import encoding

__all__ = [
    "LARGE", "SIZE", "SMALL", "Size", "Transformer", "batches", "characters", "initial", "one_thread",
    "optimizer", "plain", "sample", "sdpa", "text", "train",
]  # fmt: skip

TEXT = Path(__file__).parent / "data" / "persuasion.txt"
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(q, k, v) → o, causal, all of shape [B, H, S, D]."""


@dataclass(frozen=True)
class Size:
    """How large a run is. With `half`, products on a GPU are computed in bf16, parameters stay fp32."""

    layers: int
    heads: int
    head_dim: int
    context: int
    batch: int
    steps: int
    learning_rate: float
    half: bool = False

    @property
    def width(self) -> int:
        """Numbers per position: heads · head_dim."""
        return self.heads * self.head_dim


encoding.register(Size)

SMALL = Size(layers=1, heads=2, head_dim=32, context=32, batch=5, steps=200, learning_rate=3e-3)
"""For a CPU: interpreted, a tile costs some milliseconds whatever its size, and 32 is a single tile."""

LARGE = Size(
    layers=6, heads=6, head_dim=64, context=512, batch=64, steps=400, learning_rate=1e-3, half=True
)  # fmt: skip
"""For a GPU: ten million parameters, 32 768 characters a step."""

SIZE = LARGE if device.has_gpu() else SMALL


# ---------------------------------------------------------------- the text


@functools.cache
def _book() -> tuple[str, str]:
    book = TEXT.read_text(encoding="ascii")
    return book, "".join(sorted(set(book)))


def characters() -> str:
    """The book's alphabet: character number i is characters()[i]."""
    return _book()[1]


def text() -> Tensor:
    """Jane Austen's Persuasion as numbers of characters, [N] int64 on the CPU."""
    book, alphabet = _book()
    number = {character: i for i, character in enumerate(alphabet)}
    return torch.tensor([number[character] for character in book])


def batches(tokens: Tensor, size: Size, seed: int) -> Tensor:
    """[steps, batch, context + 1] windows at random places: one seed, one order, on any machine."""
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(
        len(tokens) - size.context, (size.steps, size.batch, 1), generator=generator
    )  # fmt: skip
    return tokens[starts + torch.arange(size.context + 1)]


# ---------------------------------------------------------------- the model


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)): [B, S, width] → [B, S, width]."""

    def __init__(self, size: Size):
        super().__init__()
        self.heads = size.heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width, bias=False)
        self.out = nn.Linear(size.width, size.width, bias=False)
        self.up = nn.Linear(size.width, 4 * size.width)
        self.down = nn.Linear(4 * size.width, size.width)

    def forward(self, x: Tensor, attention: Attention) -> Tensor:
        B, S, width = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(B, S, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # three views [B, H, S, D] of one buffer [B, S, 3, H, D]
        o = attention(q, k, v)
        x = x + self.out(o.transpose(1, 2).reshape(B, S, width))
        return x + self.down(F.gelu(self.up(self.norm_mlp(x))))


class Transformer(nn.Module):
    """Logits of the next character at every position: model(x, attention), [B, S] → [B, S, characters].

    `start` holds all parameters at the beginning, one after another, as `initial` draws them.
    """

    def __init__(self, size: Size, start: Tensor | None = None):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(len(characters()), size.width)
        self.position = nn.Embedding(size.context, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, len(characters()), bias=False)
        if start is not None:
            self.to(device=start.device, dtype=start.dtype)
            nn.utils.vector_to_parameters(start.detach().clone(), self.parameters())

    def forward(self, x: Tensor, attention: Attention) -> Tensor:
        half = self.size.half and x.is_cuda
        with torch.autocast(x.device.type, torch.bfloat16, enabled=half):
            hidden = self.embedding(x) + self.position.weight[: x.shape[1]]
            for block in self.blocks:
                hidden = block(hidden, attention)
            return self.head(self.norm(hidden)).float() if half else self.head(self.norm(hidden))


def initial(size: Size, seed: int) -> Tensor:
    """All parameters at the beginning as one fp32 vector on the CPU.

    Products start as normal numbers of variance 1/inputs (less where they feed a residual sum), positions
    as sines and cosines, from which near ones are easy to tell; gains are 1, biases 0.
    """
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for name, parameter in Transformer(size).named_parameters():
        if parameter.ndim == 1:
            value = torch.full(parameter.shape, float("norm" in name and "weight" in name))
        elif name == "position.weight":
            value = _waves(*parameter.shape)
        else:
            value = _scale(name, parameter, size) * torch.randn(parameter.shape, generator=generator)
        parts.append(value.flatten())
    return torch.cat(parts)


def _scale(name: str, parameter: Tensor, size: Size) -> float:
    if name == "embedding.weight":
        return 0.5
    if name == "head.weight":
        return 0.02  # nearly equal odds at first: the loss begins at log(characters)
    residual = name.endswith(("out.weight", "down.weight"))
    return 1 / math.sqrt(parameter.shape[1] * (2 * size.layers if residual else 1))


def _waves(positions: int, width: int) -> Tensor:
    """[positions, width]: half sines, half cosines, of wavelengths from 2π to 200π positions."""
    frequencies = 100.0 ** (-torch.arange(width // 2) / (width // 2))
    angles = torch.arange(positions)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


# ---------------------------------------------------------------- training


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW at the size's learning rate."""
    return torch.optim.AdamW(model.parameters(), lr=model.size.learning_rate, betas=(0.9, 0.95))


def sdpa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """torch's own causal attention."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same from its formula, S and P stored: another right answer that rounds in other places."""
    s = (q @ k.mT) / math.sqrt(q.shape[-1])
    hidden = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1)
    return torch.softmax(s.masked_fill(hidden, -math.inf).float(), dim=-1).to(v.dtype) @ v


def train(
    size: Size, start: Tensor, batches: Tensor, attention: Attention = sdpa, model: Transformer | None = None
) -> Tensor:
    """The loss before each step, [steps]: as many steps as there are batches, all from `start`.

    A `model` that is passed in is the one that gets trained, so that it can be used afterwards.
    """
    model = model if model is not None else Transformer(size, start)
    adam = optimizer(model)
    losses = []
    for batch in batches:  # [B, S + 1]: each character's target is the next one
        logits = model(batch[:, :-1], attention)  # (B, S, characters)
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return torch.stack(losses)


@torch.no_grad()
def sample(model: Transformer, attention: Attention, length: int, seed: int = 0, prompt: str = "\n") -> str:
    """`length` characters that the model finds likely, one after another."""
    alphabet, written = characters(), prompt
    generator = torch.Generator().manual_seed(seed)
    where = model.head.weight.device
    for _ in range(length):
        seen = torch.tensor([[alphabet.index(c) for c in written[-model.size.context :]]], device=where)
        odds = torch.softmax(model(seen, attention)[0, -1].double().cpu() / 0.8, dim=-1)
        written += alphabet[int(torch.multinomial(odds, 1, generator=generator))]
    return written[len(prompt) :]
