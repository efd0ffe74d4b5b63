"""Other implementations of attention's variants: FlexAttention, compiled, and FlashAttention-4 where it is.

>>> o = flex_softcap(30.0)(q, k, v)                  # causal; [B, H, S, D]
>>> o = flex_packed(cu_seqlens)(q, k, v)             # causal; [T, H, D]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["flash4", "flash4_packed", "flex_alibi", "flex_packed", "flex_softcap"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@functools.cache
def _flex() -> Callable[..., Tensor]:
    import torch._dynamo
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.config.cache_size_limit = 64  # a version for each feature and shape
    return torch.compile(flex_attention, dynamic=False)


def _blocks(mask: Callable[..., Tensor], length: int, device: torch.device) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(mask, None, None, length, length, device=str(device))


def _causal(b: Tensor, h: Tensor, row: Tensor, column: Tensor) -> Tensor:
    return column <= row


@functools.cache
def _causal_blocks(length: int, device: torch.device) -> Any:
    return _blocks(_causal, length, device)


def flex_softcap(cap: float) -> Attend:
    """Causal, with capped scores."""

    def capped(score, b, h, row, column):
        return cap * torch.tanh(score / cap)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return _flex()(q, k, v, score_mod=capped, block_mask=_causal_blocks(q.shape[2], q.device))

    return attend


def flex_alibi(slopes: Tensor) -> Attend:
    """Causal, with ALiBi of these slopes."""

    def biased(score, b, h, row, column):
        return score + slopes[h] * (column - row)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return _flex()(q, k, v, score_mod=biased, block_mask=_causal_blocks(q.shape[2], q.device))

    return attend


def flex_packed(cu: Tensor) -> Attend:
    """Causal within each of the packed sequences."""
    kept: list[Any] = []

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if not kept:  # a model makes it once for all of its layers
            rows = torch.arange(q.shape[0], device=q.device)
            document = torch.searchsorted(cu.long(), rows, right=True)

            def within(b, h, row, column):
                return (document[row] == document[column]) & (column <= row)

            kept.append(_blocks(within, q.shape[0], q.device))
        q, k, v = (t.transpose(0, 1)[None] for t in (q, k, v))
        return _flex()(q, k, v, block_mask=kept[0])[0].transpose(0, 1)

    return attend


def flash4(**options: Any) -> Attend:
    """FlashAttention-4, causal; ImportError where it is not installed."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from flash_attn.cute import flash_attn_func

        found = flash_attn_func(*(t.transpose(1, 2) for t in (q, k, v)), causal=True, **options)
        return (found[0] if isinstance(found, tuple) else found).transpose(1, 2)

    return attend


def flash4_packed(cu: Tensor) -> Attend:
    """FlashAttention-4 on packed sequences, causal."""

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        from flash_attn.cute import flash_attn_varlen_func

        found = flash_attn_varlen_func(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu, causal=True)
        return found[0] if isinstance(found, tuple) else found

    return attend
