"""Whether the size of a tile is that of one of many: a size for all of them repairs it by luck."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import Edit, name_of, names_in
from flashlearn.explaining.edits.returned_forms import FIXED_SIZE
from flashlearn.running.answer_source import Section

KEYWORD = re.compile(r"(\w+) ?= ?$")
COUNTS = ("cdiv", "range", "static_range")
"""Calls that count tiles, or step from one to the next."""


def covers_many(sections: Sequence[Section], number: int, edit: Edit) -> bool:
    """Whether an edit of that section gives one size to a tile that some function counts or steps over.

    Then it is one of many along its axis, and their number, or a bound, may be what is wrong.
    """
    if edit.kind is not FIXED_SIZE:
        return False
    keyword = KEYWORD.search(sections[number].text.encode()[: edit.start].decode())
    return bool(keyword) and any(_counts(ast.parse(one.text), keyword[1]) for one in sections)


def _counts(tree: ast.AST, tile: str) -> bool:
    """Whether a tile's size is multiplied, divides something, or is the step of a loop."""
    return any(tile in names_in(part) for node in ast.walk(tree) for part in _factors_and_steps(node))


def _factors_and_steps(node: ast.AST) -> Sequence[ast.expr]:
    """What is multiplied or divided by, what a call counts with, and what a name is advanced by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod):
        return [side for side in (node.left, node.right) if isinstance(side, ast.Name)]
    if isinstance(node, ast.Call) and name_of(node) in COUNTS:
        return node.args
    return [node.value] if isinstance(node, ast.AugAssign) else []
