"""The review of `online_logsumexp`: is a long row read once, and in blocks?"""

from __future__ import annotations

import torch

from flashlearn.exercise import Earlier
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

ROW_IN_ONE_BLOCK = (
    "The numbers are right, but the whole row is held in one block: a row of {columns} scores is loaded in "
    "one piece. Such a kernel ends where the registers of a program do. Here the block has to be shorter "
    "than the row: a loop, and two numbers that are carried along."
)
READ_AGAIN = (
    "The numbers are right, but the row is read more than once: for a row of {asked} bytes, "
    "{requested} are requested. In attention the scores are gone when the next tile comes. Carry the "
    "maximum and the sum in one loop, and bring the sum to the new unit whenever the maximum moves."
)
"""Sentences about correct kernels that do not do what the lesson is about."""

LONG_ROW = 16500
"""Columns of a row that no block is expected to hold: beyond 16384, the largest power of two below it."""


def one_pass(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a long row is read more than once, or held in one block as a whole.

    A program that loads the row in one piece makes two accesses in all, that load and its store.
    """
    x = torch.linspace(-3.0, 3.0, LONG_ROW).reshape(1, LONG_ROW)
    seen = answer.run({"x": x}, Observed()).completed().observation
    asked = x.numel() * x.element_size()
    if seen.bytes_requested > 1.1 * asked:
        return READ_AGAIN.format(asked=asked, requested=seen.bytes_requested)
    if seen.accesses <= 2:
        return ROW_IN_ONE_BLOCK.format(columns=LONG_ROW)
    return ""
