"""The options of one call of attention, checked and in the form that kernels take.

    >>> Options(alpha=0.125, right=0)                 # causal
    Options(alpha=0.125, left=None, right=0, softcap=None, threshold=0)

`left` and `right` say how many keys before and after its own position a query sees; None is all of them. A
query's own position is i + S_k − S_q. `threshold` of 65536 weights are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.kernels.tuned_forward import LOG2_E

__all__ = ["STEPS", "Options"]

STEPS = 2**16
"""Values of the 16 bits that decide whether dropout keeps a weight."""


@dataclass(frozen=True)
class Options:
    """Numbers alone: tensors (slopes, sinks, bounds of sequences, dropout's seed) come beside them."""

    alpha: float
    left: int | None = None
    right: int | None = None
    softcap: float | None = None
    threshold: int = 0

    @property
    def scale(self) -> float:
        """What `scored` multiplies a product by."""
        return self.alpha * LOG2_E * (2 / self.softcap if self.softcap else 1)

    @property
    def cap(self) -> float:
        """The cap in base 2."""
        return (self.softcap or 0.0) * LOG2_E

    @property
    def kept_scale(self) -> float:
        """What the weights that dropout keeps are multiplied by."""
        return STEPS / (STEPS - self.threshold)

    @property
    def band(self) -> tuple[int, int]:
        """`left` and `right` as numbers, where there is no limit 0."""
        return self.left or 0, self.right or 0

    @property
    def banded(self) -> bool:
        """Whether a mask cuts scores."""
        return self.left is not None or self.right is not None

    @property
    def sees_ahead(self) -> bool:
        """Whether a query may see keys that come after it."""
        return self.right is None or self.right > 0

    @property
    def only_causal(self) -> bool:
        """Whether nothing is asked for but, perhaps, a causal mask."""
        return self.left is None and self.right in (None, 0) and self.softcap is None and not self.threshold
