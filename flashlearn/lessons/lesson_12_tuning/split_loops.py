"""`split_loops`: where the loop needs no mask, and where it ends."""

from __future__ import annotations

import functools
from typing import Any

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_12_tuning import planning
from flashlearn.lessons.lesson_12_tuning.integer_inputs import integers


def _split(first: Any, block_q: Any, block_k: Any, S_q: Any, S_k: Any, how: str) -> tuple[Any, Any]:
    """`planning.loop_bounds` with one mistake."""
    whole, end = planning.loop_bounds(first, block_q, block_k, S_q, S_k)
    offset = S_k - S_q
    if how == "by the last query":
        whole = end // block_k * block_k
    if how == "all but the last tile":
        whole = max(0, -(-end // block_k) - 1) * block_k
    if how == "one query short":
        whole = max(0, min(S_k, first + offset)) // block_k * block_k
    if how == "not in tiles":
        whole = max(0, min(S_k, first + 1 + offset))
    if how in ("top-left", "whole top-left"):
        whole = max(0, min(S_k, first + 1)) // block_k * block_k
    if how in ("top-left", "end top-left"):
        end = max(0, min(S_k, first + block_q))
    if how == "end not cut":
        end = max(0, first + block_q + offset)
    if how == "nothing for the first" and first + 1 + offset <= 0:
        return 0, 0
    if how == "below 0":
        end = min(S_k, first + block_q + offset)
        whole = min(S_k, first + 1 + offset) // block_k * block_k
    return whole, end


def _splits(how: str) -> dict[str, Any]:
    return {"wrong": functools.partial(_split, how=how)}


MISTAKES = {
    "whole as far as the last query sees": Mistake(
        "whole goes as far as the block's last query sees. Its first query sees less: in the tiles "
        "between, it would see later keys.",
        "A tile needs no mask if every query of the block sees all of it. Which query sees least?",
        **_splits("by the last query"),
    ),
    "whole is all but the last tile": Mistake(
        "whole is all tiles but the last one. The diagonal may cross more than one: a tile needs no mask "
        "only if the block's first query sees all of it.",
        "How many tiles does the diagonal cross if block_q is larger than block_k?",
        **_splits("all but the last tile"),
    ),
    "one key short": Mistake(
        "Query i sees the keys up to and including key i + S_k − S_q: one more than is counted here.",
        "Keys 0 to n are n + 1 keys.",
        **_splits("one query short"),
    ),
    "whole is no multiple of the tile": Mistake(
        "whole is the number of keys that the first query sees, and the loop walks tiles: its last one would "
        "reach beyond.",
        "Round whole down to a multiple of block_k.",
        **_splits("not in tiles"),
    ),
    "aligned top-left": Mistake(
        "Both bounds are those of the mask j ≤ i. Here the mask is j ≤ i + S_k − S_q.",
        "Shift both by S_k − S_q.",
        **_splits("top-left"),
    ),
    "whole aligned top-left": Mistake(
        "whole is that of the mask j ≤ i. Here the mask is j ≤ i + S_k − S_q.",
        "Shift whole by S_k − S_q, before it is rounded down to whole tiles.",
        **_splits("whole top-left"),
    ),
    "end aligned top-left": Mistake(
        "end is that of the mask j ≤ i. Here the mask is j ≤ i + S_k − S_q.",
        "Shift end by S_k − S_q.",
        **_splits("end top-left"),
    ),
    "end beyond the last key": Mistake(
        "The block's last query may have a number beyond S_q, and then end lies beyond S_k: tiles that hold "
        "no key are visited.",
        "end is at most S_k.",
        **_splits("end not cut"),
    ),
    "the first query decides that nothing is seen": Mistake(
        "Both bounds are 0 where the block's first query sees no key, but its last query may see some.",
        "Which query of the block decides where the loop ends?",
        **_splits("nothing for the first"),
    ),
    "bounds below 0": Mistake(
        "With fewer keys than queries the first blocks see nothing, and a bound is negative.",
        "Neither bound may be below 0.",
        **_splits("below 0"),
    ),
}


BOUNDS = ("first", "block_q", "block_k", "S_q", "S_k")


def bounds(first: int, block_q: int, block_k: int, S_q: int, S_k: int) -> Case:
    sizes = dict(zip(BOUNDS, (first, block_q, block_k, S_q, S_k), strict=True))
    return Case(f"queries from {first}, tiles {block_q} × {block_k}, S {S_q} × {S_k}", sizes)


FRESH = (
    bounds(384, 128, 32, 700, 900),
    bounds(192, 64, 16, 250, 313),
    bounds(80, 16, 32, 90, 90),
    bounds(0, 32, 64, 500, 450),
    bounds(128, 64, 32, 300, 80),
    bounds(448, 64, 32, 500, 450),
    bounds(64, 64, 32, 500, 400),
)
"""Further blocks, at which an edit of a wrong answer must be right to be believed."""


split_loops = Exercise(
    name="split_loops",
    lesson="12",
    kind=Kind.SYMBOLIC,
    title="Where the loop needs no mask, and where it ends",
    signature="(first, block_q, block_k, S_q, S_k) -> (whole, end)",
    outputs=("whole", "end"),
    inputs=integers,
    cases=(
        bounds(0, 128, 64, 1024, 1024),
        bounds(128, 128, 64, 1024, 1024),
        bounds(127 * 128, 128, 64, 16384, 16384),
        bounds(64, 64, 128, 512, 512),
        bounds(96, 32, 32, 100, 100),
        bounds(0, 64, 32, 64, 100),
        bounds(64, 64, 32, 100, 64),
        bounds(0, 32, 32, 100, 37),
        bounds(32, 32, 32, 100, 60),  # the first query sees nothing, the last one does
        bounds(0, 16, 16, 1, 200),
        bounds(31, 1, 32, 64, 64),
    ),
    judged=HowJudged(reference=planning.loop_bounds),
    explained=HowExplained(mistakes=MISTAKES, fresh=FRESH),
    points=1,
)
