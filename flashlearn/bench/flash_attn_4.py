"""FlashAttention-4 as a contestant: the package `flash-attn-4`, which the course does not depend on.

    >>> attend = attend_by_flash_attn_4()                   # raises NotInstalled where the package is not
    >>> o = attend(q, k, v, causal=True, alpha=0.125)       # [B, H, S, D]

Its kernels are written in CuTe's Python language and compiled at the first call. They take tensors as
[B, S, H, D]: here they are given views of the contestants' own, so that all read the same memory.
"""

from __future__ import annotations

import importlib
import importlib.util

from torch import Tensor

from flashlearn.kernels.torch_attention import Attend

__all__ = ["NotInstalled", "attend_by_flash_attn_4"]

PACKAGE, MODULE = "flash-attn-4", "flash_attn.cute"


class NotInstalled(RuntimeError):
    """A contestant's package is not here; the message is a sentence."""


def attend_by_flash_attn_4() -> Attend:
    """FlashAttention-4's function over [B, H, S, D], differentiable. Raises NotInstalled."""
    if not _is_installed():
        raise NotInstalled(f"The package {PACKAGE} is not installed.")
    function = importlib.import_module(MODULE).flash_attn_func

    def attend(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        found = function(q, k, v, softmax_scale=alpha, causal=causal)
        o = found[0] if isinstance(found, tuple) else found  # some versions return LSE too
        return o.transpose(1, 2)

    return attend


def _is_installed() -> bool:
    """FlashAttention-2's package has the same root, and no `cute` in it."""
    try:
        return importlib.util.find_spec(MODULE) is not None
    except ModuleNotFoundError:  # not even the root
        return False
