"""Small problems are timed in turns, and every figure is beside SDPA's."""

from __future__ import annotations

import io

from rich.console import Console

from flashlearn.bench import small_problems
from flashlearn.bench.small_problems import TORCH, Row


def test_both_precisions_and_masks_have_a_row_with_every_contestant(monkeypatch):
    monkeypatch.setattr(small_problems, "SHAPE", (1, 1, 16, 16))
    torch_alone = {TORCH: small_problems.contestants()[TORCH]}
    rows = small_problems.measure("cpu", torch_alone, rounds=1)
    assert [(row.precision, row.causal) for row in rows] == [
        ("float16", False), ("float16", True), ("bfloat16", False), ("bfloat16", True)
    ]  # fmt: skip
    assert all(row.microseconds[TORCH] > 0 for row in rows)


def test_a_figure_comes_with_its_ratio_to_sdpa_s():
    screen = Console(file=io.StringIO(), width=120)
    screen.print(small_problems.table([Row("float16", True, {TORCH: 200.0, "lesson 09": 650.0})]))
    shown = screen.file.getvalue()
    assert "200 (1.00)" in shown and "650 (3.25)" in shown and "causal" in shown
