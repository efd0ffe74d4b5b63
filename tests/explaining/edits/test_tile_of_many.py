"""The size of a tile that is counted or stepped over is not said to be fixed wrongly."""

from __future__ import annotations

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.search import edits_that_may_be_meant
from flashlearn.explaining.edits.tile_of_many import covers_many
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer_source import Section

KERNEL = """@triton.jit
def kernel(x_ptr, M, D, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    d = tl.arange(0, BLOCK_D)
    {line}
"""
LAUNCHER = """def f(x):
    M, D = x.shape
    kernel[(4,)](x, M, D, BLOCK_M=16, BLOCK_D=64)
"""

WRONG = Outcome(Case("S 4"), Status.WRONG)


def sections_with(line: str) -> list[Section]:
    texts = (KERNEL.format(line=line), LAUNCHER)
    return [Section(f"part {i}", "answer.py", 1, text) for i, text in enumerate(texts)]


def of_many(line: str, keyword: str = "BLOCK_M") -> bool:
    edits = [e for e in edits_of(LAUNCHER) if e.kind.name == "fixed size"]
    (edit,) = (e for e in edits if e.old == {"BLOCK_M": "16", "BLOCK_D": "64"}[keyword] and e.variant == 0)
    return covers_many(sections_with(line), 1, edit)


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


def test_no_search_offers_a_size_for_one_of_many():
    tiles = "m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)"
    meant = edits_that_may_be_meant(find("tiled_matmul"), sections_with(tiles), [WRONG])
    assert {edit.old for _, edit in meant if edit.kind.name == "fixed size"} == {"64"}
