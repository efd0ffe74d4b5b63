"""The one-pass kernels with one fault each that no formula in torch can make.

>>> dq, dk, dv = faulty("fused_backward_atomic", "load, add, store")(q, k, v, o, do, lse, alpha, causal)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flashlearn.kernels import fused_backward, repeatable_backward
from flashlearn.lessons.shared.variants import Edits, variant

__all__ = ["faulty"]

_PLAIN = "tl.store({at}, tl.load({at}, mask=in_tile, other=0.0) + {share}, mask=in_tile)"
_DQ = 'tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")'
_DK = 'tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")'
_DV = 'tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")'

FAULTS: dict[str, dict[str, Edits]] = {
    "fused_backward_atomic": {
        "load, add, store": ((_DQ, _PLAIN.format(at="dq_ptr + dq_tile", share="share")),),
        "stored, not added": ((_DQ, "tl.store(dq_ptr + dq_tile, share, mask=in_tile)"),),
        "no mask": ((_DQ, "tl.atomic_add(dq_ptr + dq_tile, share)"),),
        "sum in half": (("S_q, D), dtype=torch.float32", "S_q, D), dtype=q.dtype"),),
    },
    "fused_backward_rows": {
        "load, add, store": (
            (_DK, _PLAIN.format(at="dk_ptr + dkv_tile", share="dk_share")),
            (_DV, _PLAIN.format(at="dv_ptr + dkv_tile", share="dv_share")),
        ),
        "stored, not added": (
            (_DK, "tl.store(dk_ptr + dkv_tile, dk_share, mask=in_tile)"),
            (_DV, "tl.store(dv_ptr + dkv_tile, dv_share, mask=in_tile)"),
        ),
        "no mask": (
            (_DK, "tl.atomic_add(dk_ptr + dkv_tile, dk_share)"),
            (_DV, "tl.atomic_add(dv_ptr + dkv_tile, dv_share)"),
        ),
        "sum in half": (
            (
                "dk = torch.zeros((B, H, S_k, D), dtype=torch.float32",
                "dk = torch.zeros((B, H, S_k, D), dtype=k.dtype",
            ),
            (
                "dv = torch.zeros((B, H, S_k, D), dtype=torch.float32",
                "dv = torch.zeros((B, H, S_k, D), dtype=v.dtype",
            ),
        ),
    },
    "determinism": {
        "one part for all": (("(head * tl.num_programs(0) + tl.program_id(0)) * S_q", "head * S_q"),),
    },
}
"""What is exchanged for what, by launcher and fault."""

_KERNELS: dict[str, tuple[Callable, tuple[Any, ...]]] = {
    "fused_backward_atomic": (fused_backward.fused_backward_atomic, (fused_backward.fused_keys_kernel,)),
    "fused_backward_rows": (fused_backward.fused_backward_rows, (fused_backward.fused_rows_kernel,)),
    "determinism": (
        repeatable_backward.determinism,
        (repeatable_backward.shares_kernel, repeatable_backward.sum_of_shares_kernel),
    ),
}


@functools.cache
def faulty(launcher: str, fault: str) -> Callable:
    """The launcher with one fault of FAULTS."""
    function, kernels = _KERNELS[launcher]
    return variant(function, *kernels, edits=FAULTS[launcher][fault])
