"""A kernel's place is the line of its `def`, however many decorators stand above it."""

from __future__ import annotations

import inspect

import triton
import triton.language as tl

from flashlearn.compiler.definition import place_of_definition


@triton.jit
def plain(x):
    tl.store(x, 1)


@triton.autotune(
    configs=[triton.Config({"B": 1}), triton.Config({"B": 2})],
    key=[],
)
@triton.jit
def tuned(x, B: tl.constexpr):
    tl.store(x, B)


def test_the_line_is_that_of_def_also_below_a_tuner():
    lines = inspect.getsource(inspect.getmodule(test_the_line_is_that_of_def_also_below_a_tuner)).splitlines()
    for kernel, name in ((plain, "plain"), (tuned, "tuned")):
        file, line = place_of_definition(kernel)
        assert file == __file__ and lines[line - 1].startswith(f"def {name}(")
