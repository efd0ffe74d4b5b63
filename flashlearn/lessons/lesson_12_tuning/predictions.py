"""What a learner predicts of each rung before it is measured: kept, and shown beside what was measured.

>>> predict = Predictions(("two loops",))
>>> predict("two loops", full=1.0, causal=1.1)
two loops: × 1.00 without a mask, × 1.10 causal. Kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real


class Predictions:
    """Factors by rung and mask; None where nothing was predicted."""

    def __init__(self, rungs: Iterable[str]):
        self.rungs = tuple(rungs)
        self.made: dict[tuple[str, bool], float] = {}

    def __call__(self, rung: str, full: float | None = None, causal: float | None = None) -> None:
        """Keep how many times as fast the rung makes the kernel, without a mask and with one.

        Raises ValueError for a rung that there is not, and for what is no number above 0.
        """
        if rung not in self.rungs:
            raise ValueError(f"there is no rung {rung!r}; there are {', '.join(self.rungs)}")
        for name, number, flag in (("full", full, False), ("causal", causal, True)):
            if number is None:
                self.made.pop((rung, flag), None)
            elif isinstance(number, bool) or not isinstance(number, Real) or not number > 0:
                raise ValueError(f"{name}={number!r}: a factor above 0, such as 1.1 for a tenth faster")
            else:
                self.made[rung, flag] = float(number)
        if full is None or causal is None:
            print(f"{rung}: type a number for each None, 1.1 for a tenth faster, and run the cell again.")
        else:
            print(f"{rung}: × {full:.2f} without a mask, × {causal:.2f} causal. Kept.")

    def of(self, rung: str, causal: bool) -> float | None:
        """The factor that was predicted, if one was."""
        return self.made.get((rung, causal))
