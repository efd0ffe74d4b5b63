"""`and`, `or`, `not`, `max` and `min` of tiles mean in the interpreter what they mean compiled."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter.route import observing
from tests.corpus import function_from_text

KERNEL = """
@triton.jit
def kernel(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    flag = n > 100
    z = {expression}
    tl.store(z_ptr + i, z, mask=i < n)


def launch(x):
    z = torch.empty_like(x)
    kernel[(1,)](x, z, x.numel(), BLOCK=8)
    return z
"""
X = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])


def value_of(expression: str) -> torch.Tensor:
    with observing(seed=1):
        return function_from_text(KERNEL.replace("{expression}", expression), "launch")(X)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tl.where(x > 0 and x < 3, x, 0.0)", [0, 0, 0, 1, 2, 0]),
        ("tl.where(x < -1 or x > 2, x, 0.0)", [-2, 0, 0, 0, 0, 3]),
        ("tl.where(not (x > 0), x, 0.0)", [-2, -1, 0, 0, 0, 0]),
        ("tl.where(x > 0 and x < 3 and x != 1, x, 0.0)", [0, 0, 0, 0, 2, 0]),
        ("tl.where((x > 0 and x < 2) or x == -1, x, 0.0)", [0, -1, 0, 1, 0, 0]),
        ("tl.where(BLOCK == 8 and x > 0, x, 0.0)", [0, 0, 0, 1, 2, 3]),
        ("tl.where(x > 0 and BLOCK == 8, x, 0.0)", [0, 0, 0, 1, 2, 3]),
        ("tl.where(x > 0 or flag, x, 0.0)", [0, 0, 0, 1, 2, 3]),
        ("max(x, 0.0)", [0, 0, 0, 1, 2, 3]),
        ("min(max(x, -1.0), 2.0)", [-1, -1, 0, 1, 2, 2]),
        ("x + max(n, 7) - 7", [-2, -1, 0, 1, 2, 3]),
        ("x + (n > 5 and n < 7)", [-1, 0, 1, 2, 3, 4]),
        ("x if n > 5 and not flag else -x", [-2, -1, 0, 1, 2, 3]),
    ],
)
def test_truth_is_decided_lane_by_lane(expression, expected):
    assert value_of(expression).tolist() == expected


def test_a_number_is_asked_no_further_than_python_asks():
    assert value_of("x if n == 0 and n // 0 == 1 else -x").tolist() == (-X).tolist()


def test_a_function_of_the_learner_s_own_that_is_called_max_is_taken():
    own = "@triton.jit\ndef max(a, b):\n    return a * b\n\n\n" + KERNEL.strip("\n")
    with observing(seed=1):
        z = function_from_text(own.replace("{expression}", "max(x, 2.0)"), "launch")(X)
    assert z.tolist() == (2 * X).tolist()
