"""A dispatch mode that starts at once: torch imports its compiler for others, only to keep it off them."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class LightDispatchMode(TorchDispatchMode):
    """A TorchDispatchMode whose first operation does not import torch._dynamo (over a second)."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
