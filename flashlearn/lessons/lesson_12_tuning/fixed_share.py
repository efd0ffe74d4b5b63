"""`fixed_share`: what a persistent program computes if its blocks are fixed when the kernel starts."""

from __future__ import annotations

import functools
from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers
from flashlearn.report.units import plural


def _share(pid: Any, programs: Any, blocks: Any, heads: Any, how: str) -> tuple[Any, Any]:
    """`planning.fixed_share` with one mistake."""
    total = blocks * heads
    turns = -(-total // programs)  # of the program that has most
    numbers = range(pid, total, programs)
    if how == "neighbours":
        numbers = range(min(total, pid * turns), min(total, (pid + 1) * turns))
    if how == "whole turns":
        numbers = range(pid, total // programs * programs, programs)
    if how == "as many for all":
        numbers = range(pid, turns * programs, programs)
    tiles = {
        "without the diagonal": lambda number: blocks - 1 - number // heads,
        "lightest first": lambda number: number // heads + 1,
        "head by head": lambda number: blocks - number % blocks,
        "no mask": lambda number: blocks,
        "divided by blocks": lambda number: blocks - number // blocks,
        "the turn": lambda number: blocks - number // programs,
    }.get(how, lambda number: blocks - number // heads)
    counted = list(map(tiles, numbers))
    if counted and how in ("mean", "mean rounded down"):
        ends = counted[0] + counted[-1]
        return len(counted), len(counted) * ends // 2 if how == "mean" else len(counted) * (ends // 2)
    if how == "count rounded down":
        return total // programs, sum(counted)
    if counted and how == "first":
        return len(counted), len(counted) * counted[0]
    return len(counted), sum(counted)


def _wrong(how: str, *also: str) -> dict[str, Any]:
    wrong, *others = (functools.partial(_share, how=each) for each in (how, *also))
    return {"wrong": wrong, "also": tuple(others)}


MISTAKES = {
    "neighbours": Mistake(
        "The program takes blocks whose numbers follow each other. With the heaviest blocks first, the first "
        "programs get only heavy ones.",
        "A program's next block comes `programs` numbers later.",
        **_wrong("neighbours"),
    ),
    "only whole turns": Mistake(
        "Only the turns in which every program has a block are counted. The blocks that are left after them "
        "belong to the first programs.",
        "With 10 blocks and 4 programs, which blocks does program 1 take?",
        **_wrong("whole turns"),
    ),
    "the number of blocks is rounded down": Mistake(
        "The number of blocks that the program takes comes out as blocks · heads // programs. What the "
        "division leaves over belongs to the first programs, one block each.",
        "With 10 blocks and 4 programs, how many blocks does program 1 take?",
        **_wrong("count rounded down"),
    ),
    "as many for all": Mistake(
        "Every program is given as many blocks as the first one. In the last turn there may be fewer blocks "
        "than programs.",
        "With 10 blocks and 4 programs, which blocks does program 3 take?",
        **_wrong("as many for all"),
    ),
    "without the tile on the diagonal": Mistake(
        "Each block is counted with one tile too few: block n visits the tiles 0 to n.",
        "How many tiles does block 0 visit?",
        **_wrong("without the diagonal"),
    ),
    "lightest first": Mistake(
        "The blocks are those of an order that begins with the lightest: number 0 is counted with one tile.",
        "How many tiles does the first block in the order of heaviest_first visit?",
        **_wrong("lightest first"),
    ),
    "one head after the other": Mistake(
        "The blocks are those of an order in which all blocks of a head follow each other.",
        "In the order of heaviest_first the first `heads` numbers are all last blocks.",
        **_wrong("head by head"),
    ),
    "no causal mask": Mistake(
        "Every block is counted with all tiles of keys, as without a mask.",
        "Which keys do the queries of block n see under a causal mask?",
        **_wrong("no mask"),
    ),
    "the mean of the first and the last block": Mistake(
        "The number of tiles comes out as the number of blocks times the mean of the first block's tiles "
        "and the last one's. That is not their sum where the tiles fall by unequal steps, or where the "
        "mean is rounded.",
        "With 2 blocks of 3 heads each and 2 programs, how many tiles does each of program 0's three blocks "
        "visit?",
        **_wrong("mean", "mean rounded down"),
    ),
    "all blocks like the first": Mistake(
        "Every block of the program is counted with as many tiles as its first one. Later blocks of its "
        "share can be lighter.",
        "In the order of heaviest_first, at which number does the next lighter block begin?",
        **_wrong("first"),
    ),
    "divided by the number of blocks": Mistake(
        "The blocks are those that the number divided by `blocks` gives. In this order the same block of "
        "all heads comes first, then the one before it: a block has `heads` numbers in a row.",
        "The block follows from the number divided by `heads`.",
        **_wrong("divided by blocks"),
    ),
    "a tile fewer in each turn": Mistake(
        "Each turn is counted with one tile fewer than the one before. How far the tiles fall in a turn "
        "depends on `programs` and `heads`.",
        "Which block has the number pid + programs?",
        **_wrong("the turn"),
    ),
}


SIZES = ("pid", "programs", "blocks", "heads")


def program(*values: int) -> Case:
    pid, programs, blocks, heads = values
    name = f"program {pid} of {programs}, {plural(blocks, 'block')} of {plural(heads, 'head')}"
    return Case(name, dict(zip(SIZES, values, strict=True)))


FRESH = (program(10, 24, 7, 9), program(4, 11, 6, 13), program(63, 66, 9, 20), program(2, 5, 8, 3))
"""Further programs, at which an edit of a wrong answer must be right to be believed."""


fixed_share = Exercise(
    name="fixed_share",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="What a persistent program computes if its blocks are fixed beforehand",
    signature="(pid, programs, blocks, heads) -> (taken, tiles)",
    outputs=("taken", "tiles"),
    inputs=integers,
    cases=(
        program(0, 132, 16, 40),
        program(111, 132, 16, 40),
        program(112, 132, 16, 40),
        program(131, 132, 16, 40),
        program(3, 8, 5, 3),
        program(7, 8, 5, 3),
        program(6, 8, 5, 3),
        program(0, 1, 3, 4),
        program(5, 8, 2, 3),
        program(6, 8, 2, 3),
    ),
    judged=HowJudged(reference=planning.fixed_share),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
