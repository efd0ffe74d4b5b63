"""Lesson 02: answers of which something false was once said."""

from __future__ import annotations

from flashlearn.kernels.softmax import softmax_forward
from tests.corpus import edited, wrong

wrong(
    "softmax_forward",
    "Lanes beyond the row hold 0 instead of −∞: they count in the sum, and in a maximum below 0.",
    "padding enters the sum",
    "first divergence",
)(
    edited(
        softmax_forward,
        ('mask=in_row, other=-float("inf")', "mask=in_row, other=0.0"),
        title="other=0.0 in front of the maximum and the sum",
    )
)
