"""`attention` as an attention function of Hugging Face transformers.

    >>> flashlearn.register_in_transformers()
    >>> model = AutoModelForCausalLM.from_pretrained(..., attn_implementation="fl_attention")

As for transformers' own flash functions, padding comes as a mask [B, S_k], and the sequences are computed
without it, packed; windows, caps and sinks are the model's. A mask of scores cannot be given.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flashlearn.kernels.model_attention.attention import attention

__all__ = ["attend", "padding_mask", "register_in_transformers"]

NAME = "fl_attention"
"""Not "flashlearn": of a name with "flash" in it transformers looks for a package of that name."""


def register_in_transformers(name: str = NAME) -> None:
    """Let models of transformers use `attention` as `attn_implementation=name`. ImportError without it."""
    if "flash" in name:
        raise ValueError(
            f'name is {name!r}, and transformers keeps names with "flash" for packages of its own'
        )
    try:
        from transformers.masking_utils import AttentionMaskInterface
        from transformers.modeling_utils import AttentionInterface
    except ImportError as error:
        raise ImportError(
            "transformers with AttentionInterface is not installed here: pip install 'transformers>=4.53'"
        ) from error
    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, padding_mask)


def padding_mask(
    batch_size: int, *, kv_length: int = 0, attention_mask: Tensor | None = None, **_: Any
) -> Tensor | None:
    """The mask [B, S_k] of a padded batch; None where nothing is padded."""
    if attention_mask is None:
        return None
    mask = attention_mask[:, -kv_length:] if kv_length else attention_mask
    if mask.shape[1] in (0, kv_length) and not torch.compiler.is_compiling() and mask.all():
        return None
    return mask


def attend(
    module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
    dropout: float = 0.0, scaling: float | None = None, sliding_window: int | None = None,
    softcap: float | None = None, is_causal: bool | None = None, s_aux: Tensor | None = None, **others: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """O [B, S_q, H, D] of query [B, H, S_q, D], key and value, with the features that the model asks for."""
    D, of_value = query.shape[-1], value.shape[-1]
    if of_value < D:  # the rows of V are shorter: zeros fill them up, and are cut off again
        value = torch.nn.functional.pad(value, [0, D - of_value])
    options: dict[str, Any] = {
        "causal": getattr(module, "is_causal", True) if is_causal is None else is_causal,
        "alpha": scaling,
        "window": sliding_window,
        "softcap": softcap,
        "sinks": s_aux,
        "dropout_p": dropout,
    }
    if attention_mask is not None:
        o = _padded(query, key, value, attention_mask, options)
    elif (cu := _packed(query, key, others)) is not None:
        q, k, v = (t[0].transpose(0, 1) for t in (query, key, value))
        o = attention(q, k, v, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], **options)[None]
    else:
        o = attention(query, key, value, **options).transpose(1, 2)
    return o[..., :of_value], None


def _packed(query: Tensor, key: Tensor, others: dict[str, Any]) -> tuple[Tensor, Tensor] | None:
    """Bounds of the sequences that a batch of one packs: given, or where positions begin again at 0."""
    if query.shape[0] != 1:
        return None
    if (cu_q := others.get("cu_seq_lens_q")) is not None:
        return cu_q.to(torch.int32), others["cu_seq_lens_k"].to(torch.int32)
    positions = others.get("position_ids")
    if positions is None or query.shape[2] != key.shape[2] or torch.compiler.is_compiling():
        return None
    starts = (positions.reshape(-1) == 0).nonzero().flatten()
    if positions.numel() != query.shape[2] or len(starts) < 2:
        return None
    cu = torch.cat([starts, starts.new_tensor([query.shape[2]])]).to(torch.int32)
    return cu, cu


def _padded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, options: dict[str, Any]) -> Tensor:
    """O [B, S_q, H, D] of a padded batch: its real rows are packed, the others are 0."""
    if mask.ndim != 2:
        raise ValueError(
            f"attention_mask has shape {tuple(mask.shape)}, expected the padding of the batch, [B, S_k]: "
            "masks of scores are not supported"
        )
    B, H, S_q, D = query.shape
    mask = mask.bool()
    S_k = mask.shape[1]  # less than the keys' in a cache of fixed size
    of_q = mask[:, -S_q:] if S_q <= S_k else mask.new_ones((B, S_q))
    rows = of_q.reshape(-1).nonzero().flatten()
    columns = mask.reshape(-1).nonzero().flatten()
    q = query.transpose(1, 2).reshape(B * S_q, H, D)[rows]
    k, v = (t[:, :, :S_k].transpose(1, 2).reshape(B * S_k, t.shape[1], D)[columns] for t in (key, value))
    found = attention(q, k, v, cu_seqlens_q=_bounds(of_q), cu_seqlens_k=_bounds(mask), **options)
    return found.new_zeros((B * S_q, H, D)).index_copy(0, rows, found).view(B, S_q, H, D)


def _bounds(mask: Tensor) -> Tensor:
    return torch.nn.functional.pad(mask.sum(1).cumsum(0), [1, 0]).to(torch.int32)
