"""The index that a lane outside a tensor was meant to have: said only where the strides leave no doubt."""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.stride_mismatch import intended_index
from flashlearn.interpreter.views import View


def test_a_head_that_is_too_large_is_not_called_a_column_where_heads_lie_between_the_columns():
    rows, d = np.arange(50)[:, None], np.arange(16)[None, :]
    between = View("k_ptr", (2, 50, 16), (1, 32, 2), 0, 4)  # [H, S, D] of memory [S, D, H]
    assert intended_index(4 * (2 + rows * 32 + d * 2), (49, 15), between) is None
    apart = View("k_ptr", (2, 50, 16), (800, 16, 1), 0, 4)
    assert intended_index(4 * (800 + rows * 16 + d), (49, 15), apart) == (1, 49, 15)
