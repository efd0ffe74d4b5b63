"""`heads_in_groups`: which tile a program takes, so that few heads are scanned at the same time."""

from __future__ import annotations

from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers
from flashlearn.report.units import plural


def _no_groups(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    return planning.program_to_tile(pid, blocks, heads)


def _group_zero(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    return planning.program_to_tile(pid % (group * blocks), blocks, group)


def _group_as_head(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    block, head = planning.program_to_tile(pid % (group * blocks), blocks, group)
    return block, pid // (group * blocks) + head


def _lightest_first(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    block, head = planning.program_in_group(pid, blocks, heads, group)
    return blocks - 1 - block, head


def _over_all_programs(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    _, head = planning.program_in_group(pid, blocks, heads, group)
    return blocks - 1 - pid // group, head


def _head_by_head(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    in_group = pid % (group * blocks)
    return blocks - 1 - in_group % blocks, pid // (group * blocks) * group + in_group // blocks


def _dealt_round(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    in_group, groups = pid % (group * blocks), heads // group
    return blocks - 1 - in_group // group, in_group % group * groups + pid // (group * blocks)


MISTAKES = {
    "all heads at once": Mistake(
        "The order is that of heaviest_first: the heaviest block of every head comes first, and all heads "
        "are scanned at the same time, whatever `group` is.",
        "A group has group · blocks programs: in which group is pid?",
        wrong=_no_groups,
    ),
    "only the first group": Mistake(
        "The head is always one of the first group's: the other groups are not computed, and the "
        "first one is computed several times.",
        "How many heads lie before the first head of group n?",
        wrong=_group_zero,
    ),
    "a group counted as one head": Mistake(
        "In your answer each group begins one head after the one before it, but a group has `group` heads.",
        "How many heads lie before the first head of group n?",
        wrong=_group_as_head,
    ),
    "lightest first": Mistake(
        "Within a group the blocks with the fewest keys come first, and the longest loops last.",
        "The last block of queries sees most keys. Which programs of a group should take it?",
        wrong=_lightest_first,
    ),
    "blocks counted over all programs": Mistake(
        "The block comes out as if it were counted down by pid // group over all programs; after the first "
        "group it is below 0.",
        "Blocks are counted anew in each group. At which place of its group is program pid?",
        wrong=_over_all_programs,
    ),
    "one head after the other": Mistake(
        "Within a group, all blocks of a head come before the next head begins.",
        "The first `group` programs take the last block of the group's heads, one each.",
        wrong=_head_by_head,
    ),
    "heads dealt round": Mistake(
        "In your answer a group holds every (heads / group)-th head. A group's heads must be neighbours: "
        "the first group has the heads 0 to group − 1.",
        "Which head is the first one of the group with number n?",
        wrong=_dealt_round,
    ),
}


def program(pid: int, blocks: int, heads: int, group: int) -> Case:
    sizes = {"pid": pid, "blocks": blocks, "heads": heads, "group": group}
    grid = f"{plural(blocks, 'block')}, {plural(heads, 'head')}"
    return Case(f"program {pid} of {grid} in groups of {group}", sizes)


FRESH = (program(31, 5, 12, 4), program(40, 7, 10, 5), program(58, 5, 15, 3), program(41, 3, 16, 8))
"""Further programs, at which an edit of a wrong answer must be right to be believed."""


heads_in_groups = Exercise(
    name="heads_in_groups",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="Which tile a program takes, so that few heads are scanned at the same time",
    signature="(pid, blocks, heads, group) -> (block, head)",
    outputs=("block", "head"),
    inputs=integers,
    cases=(
        program(0, 8, 64, 4),
        program(5, 8, 64, 4),
        program(31, 8, 64, 4),
        program(32, 8, 64, 4),
        program(511, 8, 64, 4),
        program(16, 3, 6, 2),
        program(11, 3, 6, 3),
        program(16, 4, 5, 5),
        program(7, 3, 4, 1),
    ),
    judged=HowJudged(reference=planning.program_in_group),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
