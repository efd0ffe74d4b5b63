"""`heaviest_first`: which tile a program takes, so that the longest loops begin first."""

from __future__ import annotations

from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers
from flashlearn.report.units import plural


def _lightest_first(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return pid // heads, pid % heads


def _head_after_head(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return blocks - 1 - pid % blocks, pid // blocks


def _one_beyond(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return blocks - pid // heads, pid % heads


def _counted_from_the_end(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    return blocks - 1 - pid // heads, heads - 1 - pid % heads


MISTAKES = {
    "lightest first": Mistake(
        "The first programs take the first blocks, which have the least to do; the longest begin last.",
        "The last block of queries sees most keys. Which number does it have?",
        wrong=_lightest_first,
    ),
    "one head after the other": Mistake(
        "Within a head the heaviest block comes first, but the heads follow each other: the last head's "
        "heavy blocks begin after all blocks of the other heads have begun.",
        "First the heaviest block of every head, then the next of every head.",
        wrong=_head_after_head,
    ),
    "blocks counted from 1": Mistake(
        "The first programs take a block that does not exist, and block 0 is left out.",
        "Blocks have the numbers 0 to blocks − 1.",
        wrong=_one_beyond,
    ),
    "the heads are reversed as well": Mistake(
        "The heads are in the reverse order, as if all programs were counted from the end.",
        "Only the block should be counted from the end. Which head does program 0 take?",
        wrong=_counted_from_the_end,
    ),
}


def program(pid: int, blocks: int, heads: int) -> Case:
    return Case(
        f"program {pid} of {plural(blocks, 'block')}, {plural(heads, 'head')}",
        {"pid": pid, "blocks": blocks, "heads": heads},
    )


FRESH = (program(17, 6, 4), program(23, 11, 7), program(58, 5, 13), program(41, 7, 6))
"""Further programs, at which an edit of a wrong answer must be right to be believed."""


heaviest_first = Exercise(
    name="heaviest_first",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="Which tile a program takes, so that the longest loops begin first",
    signature="(pid, blocks, heads) -> (block, head)",
    outputs=("block", "head"),
    inputs=integers,
    cases=(
        program(0, 8, 64),
        program(63, 8, 64),
        program(64, 8, 64),
        program(511, 8, 64),
        program(7, 3, 5),
        program(14, 3, 5),
        program(0, 1, 1),
    ),
    judged=HowJudged(reference=planning.program_to_tile),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
