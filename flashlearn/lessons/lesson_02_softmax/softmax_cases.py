"""Cases of the two softmax kernels: rows that are held in one block."""

from __future__ import annotations

import torch

from flashlearn.exercise import Case
from flashlearn.lessons.shared import row_cases


def rows(M: int, N: int, dtype: torch.dtype = torch.float32, note: str = "", **more: object) -> Case:
    """M rows of N columns, ragged where N is no power of two."""
    return row_cases.rows(M, N, dtype, note, tags={"ragged": N & (N - 1) != 0}, **more)


TIMED = rows(8192, 4096, torch.float16, gpu=True)
REAL_SIZES = {"M": 512, "rows apart": 2**23}  # a window of a matrix of 2³² elements
