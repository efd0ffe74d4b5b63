"""Brackets around what an edit puts where the operators beside it would take it apart."""

from __future__ import annotations

import ast
import functools
from dataclasses import replace

from flashlearn.explaining.edits.edit import Edit, SourceText

OPERATORS = b"+-*/%@&|^<>=~."
BONDS: tuple[tuple[type[ast.AST], ...], ...] = (
    (ast.Lambda, ast.IfExp),
    (ast.BoolOp, ast.Not, ast.Compare),
    (ast.BitOr, ast.BitXor, ast.BitAnd),
    (ast.LShift, ast.RShift, ast.Add, ast.Sub),
    (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult),
    (ast.UnaryOp, ast.Pow),
)
"""What holds an expression together, the loosest first."""


def kept_together(text: SourceText, edit: Edit) -> Edit:
    """The edit, with what it puts in brackets if it would not be one operand as it stands.

    >>> source = SourceText("x = (a + b) // c * c")
    >>> quotient = source.tree.body[0].value.left
    >>> from flashlearn.explaining.edits.operators import OPERATOR
    >>> kept_together(source, source.edit(OPERATOR, quotient, "a + b")).put
    '(a + b)'
    """
    before = text.raw[: edit.start].rstrip()[-1:]
    after = text.raw[edit.end :].lstrip()[:1]
    if (before not in OPERATORS or not before) and (after not in OPERATORS or not after):
        return edit
    put, old = _bond(edit.put.encode()), _bond(text.raw[edit.start : edit.end])
    if put is None or old is None or put >= old:
        return edit
    whole = replace(edit, put=f"({edit.put})")
    return edit if _tree(text, edit) in ("", _tree(text, whole)) else whole


@functools.lru_cache(maxsize=4096)
def _bond(written: bytes) -> int | None:
    """How tightly an expression holds together; None for what is none: a part of a statement, a list."""
    try:
        node = ast.parse(written.strip(), mode="eval").body
    except SyntaxError:
        return None
    kind = node.op if isinstance(node, ast.BinOp) else node
    kind = node.op if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else kind
    return next((level for level, kinds in enumerate(BONDS) if isinstance(kind, kinds)), len(BONDS))


def _tree(text: SourceText, edit: Edit) -> str:
    """The tree of the text after an edit, or "" if that is no Python."""
    try:
        return ast.dump(ast.parse(edit.applied(text.raw.decode())))
    except SyntaxError:
        return ""
