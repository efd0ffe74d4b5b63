"""The size of a tile that is counted or stepped over is not said to be fixed wrongly."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.tile_of_many import covers_many
from flashlearn.running.answer_source import Section

KERNEL = """@triton.jit
def kernel(x_ptr, M, D, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    {line}
"""
LAUNCHER = """def f(x):
    M, D = x.shape
    kernel[({grid},)](x, M, D, BLOCK_M=16, BLOCK_D=64)
"""


def of_many(line: str, grid: str = "4", keyword: str = "BLOCK_M") -> bool:
    texts = [KERNEL.format(line=line), LAUNCHER.format(grid=grid)]
    sections = [
        Section(name, "answer.py", 1, text) for name, text in zip(("kernel", "f"), texts, strict=True)
    ]
    edits = [e for e in edits_of(texts[1]) if e.kind.name == "fixed size"]
    (edit,) = (e for e in edits if e.old == {"BLOCK_M": "16", "BLOCK_D": "64"}[keyword] and e.variant == 0)
    return covers_many(sections, 1, edit)


@pytest.mark.parametrize(
    "line",
    [
        "m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)",
        "for m in range(0, M, BLOCK_M): pass",
        "x_ptr += BLOCK_M",
        "tiles = tl.cdiv(M, BLOCK_M)",
    ],
)
def test_a_tile_that_a_program_s_number_or_a_loop_s_step_multiplies_is_one_of_many(line):
    assert of_many(line)


def test_a_tile_that_alone_covers_its_axis_may_be_too_small():
    assert not of_many("m = tl.arange(0, BLOCK_M)")
    assert not of_many("m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)", keyword="BLOCK_D")
