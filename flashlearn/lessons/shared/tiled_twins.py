"""Twins that sum as kernels do: tile by tile, in powers of two. For lessons 06 to 10.

The twins of `reference` sum over all keys, or all queries, in one matrix product. A kernel adds up tiles,
and with a softmax that it rescales from tile to tile; in fp32 each order has its own rounding errors, and
none is a fault. Shapes are [..., S, D], so one head without batch is served too.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.lessons.shared import reference

TILES = 16  # along the longer side, at most: a twin of a long case must not take long itself
TILES_ON_A_GPU = 4  # there each operation takes Python longer than the GPU, and two loops make 256 of each


def gradients_in_tiles(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) summed tile by tile; P and dS are rounded to the inputs' dtype before their products."""
    q_, k_, v_, do_ = (_wide(x) for x in (q, k, v, do))
    delta = reference.attention_delta(o, do).unsqueeze(-1)
    grown = (_wide(lse) * reference.LOG2E).unsqueeze(-1)
    grown = torch.where(grown == -math.inf, math.inf, grown)  # a query that saw no key: P = 0
    seen = reference.visible(q.shape[-2], k.shape[-2], causal, q.device)
    dq, dk, dv = torch.zeros_like(q_), torch.zeros_like(k_), torch.zeros_like(v_)
    for rows, keys in itertools.product(_blocks(q, k, q), _blocks(q, k, k)):
        row, key = (..., rows, slice(None)), (..., keys, slice(None))
        s = (q_[row] * (alpha * reference.LOG2E)) @ k_[key].mT  # q scaled first: its rounding, not that of s
        p = (s.masked_fill(~seen[rows, keys], -math.inf) - grown[row]).exp2()
        dp = do_[row] @ v_[key].mT
        ds = _wide((p * dp - p * delta[row]).to(q.dtype))
        dv[key] += _wide(p.to(q.dtype)).mT @ do_[row]
        dk[key] += alpha * ds.mT @ q_[row]
        dq[row] += alpha * ds @ k_[key]
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def other_order(gradients: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """The same gradients with every sum over D taken from the other end."""

    def reversed_in_d(q, k, v, o, do, lse, alpha, *causal):
        flipped = (x.flip(-1) for x in (q, k, v, o, do))
        return tuple(x.flip(-1) for x in gradients(*flipped, lse, alpha, *causal))

    return reversed_in_d


def forward_in_tiles(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """(O, LSE) by the online softmax, base 2: one scan over the keys, P rounded before it meets V."""
    q_, k_, v_ = _wide(q) * (alpha * reference.LOG2E), _wide(k), _wide(v)  # scaled first, as tuned kernels do
    seen = reference.visible(q.shape[-2], k.shape[-2], causal, q.device)
    m = q_.new_full((*q.shape[:-1], 1), -math.inf)
    total, acc = torch.zeros_like(m), q_.new_zeros((*q.shape[:-1], v.shape[-1]))
    for keys in _blocks(q, k, k):
        s = (q_ @ k_[..., keys, :].mT).masked_fill(~seen[:, keys], -math.inf)
        m_new = torch.maximum(m, s.amax(-1, keepdim=True))
        shift = torch.where(m_new == -math.inf, 0.0, m_new)
        rescale, p = (m - shift).exp2(), (s - shift).exp2()
        total = total * rescale + p.sum(-1, keepdim=True)
        acc = acc * rescale + _wide(p.to(v.dtype)) @ v_[..., keys, :]
        m = m_new
    o = acc / torch.where(total == 0, 1.0, total)
    return o.to(q.dtype), ((m + total.log2()) / reference.LOG2E).squeeze(-1)


Products = Callable[[Tensor, Tensor], Tensor]
"""[..., S_q, D] and [..., S_k, D] → [..., S_q, S_k]: every query's product with every key."""


def in_order(q: Tensor, k: Tensor) -> Tensor:
    """Q Kᵀ summed over D one column after the other, as a loop adds it."""
    total = q[..., 0, None] * k[..., None, :, 0]
    for d in range(1, q.shape[-1]):
        total = total + q[..., d, None] * k[..., None, :, d]
    return total


def in_halves(q: Tensor, k: Tensor) -> Tensor:
    """Q Kᵀ summed over D by halves of halves, as tl.sum of a tile of products adds it."""
    half = q.shape[-1] // 2
    if half == 0:
        return q[..., 0, None] * k[..., None, :, 0]
    return in_halves(q[..., :half], k[..., :half]) + in_halves(q[..., half:], k[..., half:])


def matrix_product(q: Tensor, k: Tensor) -> Tensor:
    """Q Kᵀ as torch multiplies matrices."""
    return q @ k.mT


def matrix_product_reversed(q: Tensor, k: Tensor) -> Tensor:
    """The same with D from the other end."""
    return q.flip(-1) @ k.flip(-1).mT


def forward_from_lse(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False, products: Products = matrix_product,
    scaled_first: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(O, LSE) in two passes: LSE first, then O = exp(S − LSE) V, which nothing is divided by any more.

    LSE's own rounding, of a number as large as the scores, is then a factor of the whole row.
    """
    s = _scores(q, k, alpha, causal, products, scaled_first)
    lse = reference.logsumexp(s).unsqueeze(-1)
    p = (s - torch.where(lse == -math.inf, 0.0, lse)).exp()
    return (_wide(p.to(v.dtype)) @ _wide(v)).to(q.dtype), lse.squeeze(-1)


def forward_by_products(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False, products: Products = in_order,
    scaled_first: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(O, LSE) with the scores summed over D in an order of one's own: fp32 sums depend on it."""
    s = _scores(q, k, alpha, causal, products, scaled_first)
    m = s.amax(-1, keepdim=True)
    p = (s - torch.where(m == -math.inf, 0.0, m)).exp()
    total = p.sum(-1, keepdim=True)
    o = (_wide(p.to(v.dtype)) @ _wide(v)) / torch.where(total == 0, 1.0, total)
    return o.to(q.dtype), (m + total.log()).squeeze(-1)


def _scores(
    q: Tensor, k: Tensor, alpha: float, causal: bool, products: Products, scaled_first: bool
) -> Tensor:
    """S [..., S_q, S_k] in fp32 or fp64, −inf where the mask hides a key."""
    q_, k_ = _wide(q), _wide(k)
    s = products(alpha * q_, k_) if scaled_first else alpha * products(q_, k_)
    return s.masked_fill(~reference.visible(q.shape[-2], k.shape[-2], causal, q.device), -math.inf)


ORDERS: tuple[Callable[..., tuple[Tensor, Tensor]], ...] = (
    *(functools.partial(forward_by_products, products=order) for order in (in_order, in_halves)),
    *(
        functools.partial(forward_from_lse, products=order, scaled_first=first)
        for order, first in ((matrix_product, False), (matrix_product_reversed, True), (in_order, False))
    ),
)
"""Forward twins in the spellings that kernels have besides the online scan."""


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _blocks(q: Tensor, k: Tensor, which: Tensor) -> list[slice]:
    """Slices along S of `which`, 16 long, or longer where that were more than TILES along q or k."""
    most = TILES_ON_A_GPU if q.is_cuda else TILES
    block = max(16, -(-max(q.shape[-2], k.shape[-2]) // most))
    return [slice(start, start + block) for start in range(0, which.shape[-2], block)]
