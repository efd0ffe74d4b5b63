"""Edits of a number of blocks: rounded down where it must be rounded up, and the reverse.

for start in range(0, n // BLOCK * BLOCK, BLOCK):    # a loop bound that is rounded down
grid = (triton.cdiv(n, BLOCK) * BLOCK,)              # a size that is rounded up
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind

BLOCK_SIZE = re.compile(r"(?i:block|tile|chunk|strip|^B|rows|cols|wide|tall|size)|^[A-Z][A-Z_\d]+$")

ROUND_UP = edit_kind(
    "round up",
    sentence="Line {line} rounds down: `{old}`; with `{new}`",
    question="Where the division leaves a remainder, must the last part count here or not?",
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


def calls_triton(edit: Edit) -> bool:
    """True for rounding up by triton.cdiv, which a formula has not imported and which takes no symbols."""
    return edit.kind is ROUND_UP and "triton.cdiv(" in edit.new and "triton" not in edit.old


def rounds_up(node: ast.BinOp) -> bool:
    """True for `(n + b - 1) // b`, in any order of its terms, and for what `-(-n // b)` has in brackets.

    >>> rounds_up(ast.parse("(n - 1 + b) // b", mode="eval").body)
    True
    """
    if isinstance(node.left, ast.UnaryOp):
        return True
    added = signed_terms(node.left)
    divisor = ast.dump(node.right)
    if isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
        numbers = [sign * value.value for sign, value in added if _is_integer(value)]
        return len(numbers) < len(added) and sum(numbers) == node.right.value - 1 > 0
    ones = [sign for sign, value in added if _is_integer(value) and value.value == 1]
    return sum(ones) == -1 and any(sign == 1 and ast.dump(value) == divisor for sign, value in added)


def rounded_down_edits(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """`n // b` for `(n + b - 1) // b`."""
    for value in rounded_sizes(node):
        yield text.edit(ROUND_DOWN, node, f"{bracketed(value, text.of(value))} // {text.of(node.right)}")


def rounded_sizes(node: ast.BinOp) -> list[ast.expr]:
    """The `n` of `(n + b - 1) // b`; none where nothing is rounded up.

    >>> [ast.unparse(n) for n in rounded_sizes(ast.parse("(n + b - 1) // b", mode="eval").body)]
    ['n']
    """
    if isinstance(node.left, ast.UnaryOp) or not rounds_up(node):
        return []
    terms, divisor = signed_terms(node.left), ast.dump(node.right)
    return [v for sign, v in terms if sign == 1 and not _is_integer(v) and ast.dump(v) != divisor]


def signed_terms(node: ast.expr, sign: int = 1) -> list[tuple[int, ast.expr]]:
    """The summands of an expression, each with its sign."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return [(sign, node)]
    right = -sign if isinstance(node.op, ast.Sub) else sign
    return signed_terms(node.left, sign) + signed_terms(node.right, right)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def round_down_edit(text: SourceText, node: ast.Call) -> Edit:
    """`a // b` for `cdiv(a, b)`."""
    a, b = map(text.of, node.args)
    return text.edit(ROUND_DOWN, node, f"({a}) // ({b})")
