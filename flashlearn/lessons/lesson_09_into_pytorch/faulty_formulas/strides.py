"""strided_inputs in torch, with faults by name: alpha settled wrongly, or o written where it does not lie.

    >>> o, lse = forward(q, k, v, None, faults=frozenset({"alpha twice"}))

Several faults can be made at once. Strides that lead outside a tensor are edits of the launcher,
in strided_inputs.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults


def forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None, faults: Faults = NONE
) -> tuple[Tensor, Tensor]:
    """(o [B, H, S_q, D] in q's dtype, LSE [B, H, S_q])."""
    alpha = _alpha(q, k, alpha, faults)
    o, lse = reference.attention_forward_rounded(q, k, v, alpha**2 if "alpha twice" in faults else alpha)
    return (_laid_out_like(o, q) if "o like q" in faults else o), lse


def _alpha(q: Tensor, k: Tensor, alpha: float | None, faults: Faults) -> float:
    default = 1 / math.sqrt(q.shape[-1])
    if "given alpha ignored" in faults or ("zero is no alpha" in faults and not alpha):
        return default
    if alpha is not None:
        return alpha
    lengths = {
        "no default": 1,
        "alpha of the padded D": max(16, 1 << (q.shape[-1] - 1).bit_length()),
        "alpha from S_q": q.shape[-2],
        "alpha from S_k": k.shape[-2],
    }
    return next((1 / math.sqrt(n) for name, n in lengths.items() if name in faults), default)


def _laid_out_like(o: Tensor, q: Tensor) -> Tensor:
    """o's numbers in the order of memory, read with the strides that torch.empty_like gives q's copy."""
    copy = torch.empty_like(q)
    if not _dense(copy):
        return o
    return o.contiguous().as_strided(o.shape, copy.stride())


def _dense(t: Tensor) -> bool:
    return t.untyped_storage().nbytes() == t.numel() * t.element_size()
