"""The extent of a head: kernels with 32-bit offsets within a head refuse larger ones.

>>> refuse_far_rows(q=q, k=k)      # ValueError for a tensor one head of which spans 2³¹ elements or more
"""

from __future__ import annotations

from torch import Tensor

__all__ = ["refuse_far_rows"]


def refuse_far_rows(**tensors: Tensor) -> None:
    """Raise ValueError for a tensor [B, H, S, D] one head of which reaches over 2³¹ elements or more."""
    for name, t in tensors.items():
        reach = (t.shape[2] - 1) * t.stride(2) + (t.shape[3] - 1) * t.stride(3)
        if reach >= 2**31:
            raise ValueError(
                f"a head of {name} reaches over {reach} elements, and offsets inside a head have 32 bits: "
                f"make {name} contiguous"
            )
