"""Edits of a number of blocks: rounded down where it must be rounded up, and the reverse.

for start in range(0, n // BLOCK * BLOCK, BLOCK):    # a loop bound that is rounded down
grid = (triton.cdiv(n, BLOCK) * BLOCK,)              # a size that is rounded up
"""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind

BLOCK_SIZE = re.compile(r"block|tile|^B|rows|cols|wide|tall|size", re.I)

ROUND_UP = edit_kind(
    "round up",
    sentence="Line {line} rounds down: `{old}`; with `{new}`",
    question="What is left out where the division leaves a remainder?",
    by_chance_in_integers=True,
)
ROUND_DOWN = edit_kind(
    "round down",
    sentence="Line {line} rounds up: `{old}`; with `{new}`",
    question="Where the division leaves a remainder, should the remainder count here?",
    by_chance_in_integers=True,
)


def round_up_edit(text: SourceText, node: ast.BinOp, kernel: bool) -> Edit:
    """`cdiv(a, b)` for `a // b`; in a kernel less likely where b is not a size of blocks."""
    left, right = text.of(node.left), text.of(node.right)
    by_block = bool(BLOCK_SIZE.search(right)) or isinstance(node.right, ast.Constant)
    up = f"{'tl' if kernel else 'triton'}.cdiv({left}, {right})"
    return text.edit(ROUND_UP, node, up, int(kernel and not by_block))


def round_down_edit(text: SourceText, node: ast.Call) -> Edit:
    """`a // b` for `cdiv(a, b)`."""
    a, b = map(text.of, node.args)
    return text.edit(ROUND_DOWN, node, f"({a}) // ({b})")
