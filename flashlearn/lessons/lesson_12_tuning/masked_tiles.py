"""`masked_tiles`: what the loop with the mask computes, and how much of it for nothing."""

from __future__ import annotations

from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula


def _tiles(
    first: Any, block_q: Any, block_k: Any, edge: Any, S: Any, faults: Faults = NONE
) -> tuple[Any, Any]:
    """`planning.masked_tiles` with mistakes."""
    whole, end = planning.loop_bounds(first, block_q, block_k, S, S)
    if "end not limited" in faults:
        end = first + block_q
    if "tiles of the first loop" in faults:
        edge = block_k
    if "whole tiles of its own" in faults:
        whole = (first + 1) // edge * edge
    if "from 0" in faults:
        whole = 0
    tiles = -(-(end - whole) // edge)
    if "rounded down" in faults:
        tiles = (end - whole) // edge
    if "one more" in faults:
        tiles = (end - whole) // edge + 1
    beyond = whole + tiles * edge - end
    if "keys that are seen" in faults:
        beyond = end - whole
    if "seen part of the last tile" in faults:
        beyond = (end - whole) % edge
    if "whole tile" in faults:
        beyond = edge - (end - whole) % edge
    if "first query" in faults:
        beyond = whole + tiles * edge - min(first + 1, S)
    if "beyond S" in faults:
        beyond = max(0, whole + tiles * edge - S)
    if "beyond the end without limit" in faults:
        beyond = whole + tiles * edge - first - block_q
    if "pairs" in faults:
        beyond = beyond * block_q
    return tiles, beyond


_wrong = faulty_formula(_tiles)

MISTAKES = {
    "tiles of the first loop": Mistake(
        "The tiles of the second loop are counted with block_k keys each, but they have `edge` keys.",
        "Which of the two sizes is the step of the loop with the mask?",
        **_wrong("tiles of the first loop"),
    ),
    "the first loop ends at tiles of the second": Mistake(
        "The second loop begins at a multiple of `edge`, not where the first one ends: after whole tiles of "
        "block_k keys.",
        "The first loop ends after whole tiles: of which size are its tiles?",
        **_wrong("whole tiles of its own"),
    ),
    "all keys have a mask": Mistake(
        "The second loop is counted from key 0 on. It begins where the first one ends.",
        "At which key does the loop without the mask end?",
        **_wrong("from 0"),
    ),
    "the last tile is left out": Mistake(
        "The number of tiles comes out rounded down: the last keys before `end` are in none of them.",
        "How many tiles of 64 keys do 65 keys need?",
        **_wrong("rounded down"),
    ),
    "a tile too many": Mistake(
        "The number of tiles comes out as the quotient rounded down, plus 1. Where `edge` divides the "
        "number of keys, that is a tile too many.",
        "How many tiles of 64 keys do 64 keys need?",
        **_wrong("one more"),
    ),
    "the end is not limited": Mistake(
        "In your answer the keys end at first + block_q, even where that is beyond S.",
        "The keys end at S at the latest.",
        **_wrong("end not limited", also=("beyond the end without limit",)),
    ),
    "the keys that are seen": Mistake(
        "The second number counts the keys from `whole` to `end`. It should count those from `end` on that "
        "the last tile still holds.",
        "How many keys do all tiles of the second loop hold together?",
        **_wrong("keys that are seen"),
    ),
    "the part of the last tile that is seen": Mistake(
        "The second number is the remainder of (end − whole) / edge: the keys of the last tile before "
        "`end`, if it is not full. It should count the keys that the tile holds from `end` on.",
        "A tile of 16 keys holds 4 that are seen: how many does it compute for nothing?",
        **_wrong("seen part of the last tile"),
    ),
    "a whole tile where nothing is left over": Mistake(
        "Where `edge` divides the number of keys, the second number is `edge`. The last tile is full there, "
        "and nothing is beyond.",
        "What is edge − n % edge for n = edge?",
        **_wrong("whole tile"),
    ),
    "what the first query does not see": Mistake(
        "The second number counts the keys that the block's first query does not see. It should count those "
        "that no query of the block sees.",
        "Which query of the block sees most keys?",
        **_wrong("first query"),
    ),
    "keys beyond the sequence alone": Mistake(
        "The second number counts only keys from S on. The last tile may also hold keys of the sequence that "
        "come after the block's last query.",
        "Which keys of the last tile does the causal mask hide from every query of the block?",
        **_wrong("beyond S"),
    ),
    "pairs instead of keys": Mistake(
        "The second number is multiplied by the number of queries. It should count columns of the tile.",
        "How many keys does the last tile hold that no query of the block sees?",
        **_wrong("pairs"),
    ),
}


SIZES = ("first", "block_q", "block_k", "edge", "S")


def block(*values: int) -> Case:
    first, block_q, block_k, edge, S = values
    name = f"queries from {first} of {S}, tiles {block_q} × {block_k}, masked {block_q} × {edge}"
    return Case(name, dict(zip(SIZES, values, strict=True)))


FRESH = (
    block(192, 64, 128, 32, 1000),
    block(96, 48, 64, 16, 500),
    block(320, 64, 256, 32, 2000),
    block(80, 16, 96, 32, 90),
    block(64, 40, 64, 32, 500),
    block(64, 64, 64, 48, 500),  # `edge` does not divide block_k
    block(96, 48, 128, 64, 500),  # nor block_q
)
"""Further blocks, at which an edit of a wrong answer must be right to be believed."""


masked_tiles = Exercise(
    name="masked_tiles",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="What the loop with the mask computes, and how much of it for nothing",
    signature="(first, block_q, block_k, edge, S) -> (tiles, beyond)",
    outputs=("tiles", "beyond"),
    inputs=integers,
    cases=(
        block(0, 64, 128, 128, 1024),
        block(0, 64, 128, 64, 1024),
        block(64, 64, 128, 64, 1024),
        block(192, 64, 128, 64, 1024),
        block(128, 128, 128, 32, 1024),
        block(96, 32, 64, 16, 100),
        block(64, 64, 128, 64, 100),
        block(1000, 8, 64, 32, 2048),
        block(48, 16, 128, 96, 1024),
    ),
    judged=HowJudged(reference=planning.masked_tiles),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
