"""`forward_budget`: what a configuration takes, before the compiler is asked."""

from __future__ import annotations

import functools
from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers


def _budget(block_q: Any, block_k: Any, D: Any, size: Any, stages: Any, warps: Any, how: str) -> tuple:
    """`planning.forward_budget` with one mistake."""
    shared, registers = planning.forward_budget(block_q, block_k, D, size, stages, warps)
    if how == "K alone":
        shared = size * D * (block_q + stages * block_k)
    if how == "Q in every stage":
        shared = size * D * stages * (block_q + 2 * block_k)
    if how == "without Q":
        shared = size * D * 2 * stages * block_k
    if how == "O alone":
        registers = registers * D / (block_k + D)
    if how == "S alone":
        registers = registers * block_k / (block_k + D)
    if how == "per warp":
        registers = registers * 32
    return shared, registers


def _budgets(how: str) -> dict[str, Any]:
    return {"wrong": functools.partial(_budget, how=how)}


MISTAKES = {
    "V is not counted": Mistake(
        "A stage holds a tile of K and a tile of V; only one of them is counted.",
        "How many tiles does one step of the loop load?",
        **_budgets("K alone"),
    ),
    "Q in every stage": Mistake(
        "Q's tile is counted once per stage. It is loaded before the loop and stays.",
        "Which tiles change from step to step?",
        **_budgets("Q in every stage"),
    ),
    "Q is not counted": Mistake(
        "Q's tile is not counted. wgmma reads both operands of Q Kᵀ from shared memory, so it is there, too.",
        "Count all tiles that the loop reads, not only those that it loads.",
        **_budgets("without Q"),
    ),
    "S is not counted": Mistake(
        "The sum for O is counted, but not the tile of scores, which is fp32 in registers as well.",
        "What do the two products of a step write?",
        **_budgets("O alone"),
    ),
    "O is not counted": Mistake(
        "The tile of scores is counted, but not the sum for O, which stays in registers through the whole "
        "loop.",
        "What do the two products of a step write?",
        **_budgets("S alone"),
    ),
    "per warp, not per thread": Mistake(
        "The accumulators come out per warp, and the 32 threads of a warp share them.",
        "A program has 32 · warps threads.",
        **_budgets("per warp"),
    ),
}


CONFIGURATION = ("block_q", "block_k", "D", "size", "stages", "warps")


def configuration(*values: int) -> Case:
    block_q, block_k, D, size, stages, warps = values
    name = f"{block_q} × {block_k}, D {D}, {size} byte{'s' * (size != 1)}, {stages} stages, {warps} warps"
    return Case(name, dict(zip(CONFIGURATION, values, strict=True)))


FRESH = (
    configuration(192, 48, 96, 4, 5, 2),
    configuration(32, 128, 40, 8, 3, 16),
    configuration(256, 96, 160, 2, 6, 4),
)
"""Further configurations, at which an edit of a wrong answer must be right to be believed."""


forward_budget = Exercise(
    name="forward_budget",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="What a configuration takes, before the compiler is asked",
    signature="(block_q, block_k, D, size, stages, warps) -> (shared, accumulators)",
    outputs=("shared", "accumulators"),
    inputs=integers,
    cases=(
        configuration(64, 64, 64, 2, 2, 4),
        configuration(128, 64, 64, 2, 3, 4),
        configuration(128, 128, 128, 2, 3, 8),
        configuration(128, 64, 128, 2, 2, 8),
        configuration(64, 32, 256, 2, 2, 4),
        configuration(64, 64, 128, 1, 4, 8),
        configuration(16, 16, 24, 2, 2, 8),  # 5/2 accumulators: the fraction is to be exact
    ),
    judged=HowJudged(reference=planning.forward_budget),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
