"""What `attention` refuses, each in one sentence with the sizes that do not go together.

>>> refuse_misfits(q, k, v, packed=False)        # raises TypeError or ValueError, or returns None
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "MAX_D",
    "band",
    "fit",
    "refuse_bounds",
    "refuse_misfits",
    "refuse_numbers",
    "refuse_slopes_and_sinks",
]

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
MAX_D = 256
BATCHED, PACKED = "[B, H, S, D]", "[T, H, D]"


def fit(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether `refuse_misfits` has nothing to say to [B, H, S, D] on a GPU, or a CPU: its quick form."""
    return (
        q.ndim == k.ndim == 4
        and q.dtype == k.dtype == v.dtype
        and q.dtype in DTYPES
        and q.device == k.device == v.device
        and q.device.type in ("cuda", "cpu")
        and k.shape == v.shape
        and q.shape[::3] == k.shape[::3]
        and 0 < q.shape[3] <= MAX_D
        and k.shape[1] > 0
        and q.shape[1] % k.shape[1] == 0
    )


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor, packed: bool) -> None:
    """Dimensions, dtypes, devices and shapes of q, k and v."""
    for name, t in (("q", q), ("k", k), ("v", v)):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name} is {type(t).__name__}, expected a torch.Tensor")
        if t.ndim != (3 if packed else 4):
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected {_expected(packed)}")
        if t.dtype not in DTYPES and not (t.dtype == torch.float64 and t.device.type == "cpu"):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: q, k and v share a device")
    if q.device.type not in ("cuda", "cpu", "meta"):
        raise ValueError(f"q is on {q.device}: there are kernels for NVIDIA GPUs (cuda), and a CPU works too")
    if k.shape != v.shape:
        raise ValueError(f"k has shape {tuple(k.shape)} and v {tuple(v.shape)}: they have the same shape")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q has rows of D = {q.shape[-1]} and k of {k.shape[-1]}: D is the same for all")
    if not 0 < q.shape[-1] <= MAX_D:
        raise ValueError(f"q has rows of D = {q.shape[-1]}, expected 1 to {MAX_D}")
    if not packed and q.shape[0] != k.shape[0]:
        raise ValueError(f"q has B = {q.shape[0]} and k has {k.shape[0]}: the batch is the same for all")
    H, H_k = q.shape[1], k.shape[1]
    if H_k == 0 or H % H_k:
        raise ValueError(
            f"q has {H} heads and k and v have {H_k}: their number must divide q's (grouped queries)"
        )


def _expected(packed: bool) -> str:
    if packed:
        return f"{PACKED}: with cu_seqlens_q the sequences lie one after another in the first dimension"
    return f"{BATCHED} (or {PACKED} together with cu_seqlens_q)"


def refuse_numbers(
    alpha: float | None, softcap: float | None, dropout_p: float, seed: Tensor | int | None
) -> None:
    """Numbers outside of what they may be."""
    if alpha is not None and not math.isfinite(alpha):
        raise ValueError(f"alpha is {alpha}, expected a finite number")
    if softcap is not None and not (softcap > 0 and math.isfinite(softcap)):
        raise ValueError(f"softcap is {softcap}, expected a positive number, or None for no cap")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p is {dropout_p}, expected a probability from 0 up to, but not, 1")
    if seed is not None and dropout_p == 0:
        raise ValueError("seed is given and dropout_p is 0: a seed is for dropout alone")
    if isinstance(seed, Tensor) and (seed.dtype != torch.int64 or seed.numel() != 1):
        raise ValueError(
            f"seed is {seed.dtype} of shape {tuple(seed.shape)}, expected one number in torch.int64"
        )


def band(causal: bool, window: int | tuple[int | None, int | None] | None) -> tuple[int | None, int | None]:
    """How many keys before and after its own position a query sees; None where there is no limit."""
    if window is None:
        left = right = None
    elif isinstance(window, int) and not isinstance(window, bool):
        if window < 1:
            raise ValueError(f"window is {window}, expected at least 1: a query sees its own position")
        left = right = window - 1
    else:
        left, right = _pair(window)
    return left, 0 if causal else right


def _pair(window: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    try:
        left, right = window
    except (TypeError, ValueError):
        raise TypeError(f"window is {window!r}, expected a number of keys, or a pair (left, right)") from None
    for side in (left, right):
        if side is not None and (not isinstance(side, int) or side < -1):
            raise ValueError(
                f"window is {window!r}, expected numbers of keys from 0 on, or None (or −1) for no limit"
            )
    return (None if left in (None, -1) else left), (None if right in (None, -1) else right)


def refuse_bounds(q: Tensor, k: Tensor, cu_seqlens_q: Tensor | None, cu_seqlens_k: Tensor | None) -> None:
    """The bounds of packed sequences; on a CPU also their values, which elsewhere would cost a wait."""
    if (cu_seqlens_q is None) != (cu_seqlens_k is None):
        given, missing = ("q", "k") if cu_seqlens_k is None else ("k", "q")
        raise ValueError(
            f"cu_seqlens_{given} is given without cu_seqlens_{missing}: packed sequences need both"
        )
    if cu_seqlens_q is None:
        return
    for name, cu in (("cu_seqlens_q", cu_seqlens_q), ("cu_seqlens_k", cu_seqlens_k)):
        if cu.ndim != 1 or cu.dtype != torch.int32 or cu.shape[0] < 2:
            raise ValueError(
                f"{name} is {cu.dtype} of shape {tuple(cu.shape)}, expected torch.int32 of shape "
                "[sequences + 1]"
            )
        if cu.device != q.device:
            raise ValueError(f"{name} is on {cu.device} and q on {q.device}: they share a device")
    if cu_seqlens_q.shape != cu_seqlens_k.shape:
        raise ValueError(
            f"cu_seqlens_q bounds {cu_seqlens_q.shape[0] - 1} sequences and cu_seqlens_k "
            f"{cu_seqlens_k.shape[0] - 1}: q and k have the same sequences"
        )
    if (
        type(cu_seqlens_q) is Tensor
        and cu_seqlens_q.device.type == "cpu"
        and not torch.compiler.is_compiling()
    ):
        for name, cu, rows in (("cu_seqlens_q", cu_seqlens_q, q), ("cu_seqlens_k", cu_seqlens_k, k)):
            values = cu.tolist()
            if values[0] != 0 or values[-1] != rows.shape[0] or values != sorted(values):
                raise ValueError(
                    f"{name} is {values}, expected numbers that rise from 0 to T = {rows.shape[0]}"
                )


def refuse_slopes_and_sinks(q: Tensor, alibi: Tensor | None, sinks: Tensor | None, sequences: int) -> None:
    """Shapes and devices of ALiBi's slopes and of sinks."""
    H = q.shape[1]
    if alibi is not None:
        if tuple(alibi.shape) not in ((H,), (sequences, H)):
            raise ValueError(
                f"alibi has shape {tuple(alibi.shape)}, expected ({H},) or ({sequences}, {H}): a slope for "
                "each head of q, or for each sequence and head"
            )
        if alibi.requires_grad:
            raise ValueError("alibi requires a gradient, and slopes are constants here: pass alibi.detach()")
    if sinks is not None and tuple(sinks.shape) != (H,):
        raise ValueError(f"sinks has shape {tuple(sinks.shape)}, expected ({H},): a logit for each head of q")
    for name, t in (("alibi", alibi), ("sinks", sinks)):
        if t is not None and not t.is_floating_point():
            raise TypeError(f"{name} is {t.dtype}, expected floating-point numbers")
        if t is not None and t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: they share a device")
