"""Brackets around what an edit puts where the operators beside it would take it apart."""

from __future__ import annotations

import ast
from dataclasses import replace

from flashlearn.explaining.edits.edit import Edit, SourceText

OPERATORS = b"+-*/%@&|^<>=~."
LOOSE = ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda


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
    try:
        put = ast.parse(edit.put.strip(), mode="eval").body
    except SyntaxError:
        return edit  # a part of a statement, or several parts of a list
    if not isinstance(put, LOOSE):
        return edit
    whole = replace(edit, put=f"({edit.put})")
    return edit if _tree(text, edit) in ("", _tree(text, whole)) else whole


def _tree(text: SourceText, edit: Edit) -> str:
    """The tree of the text after an edit, or "" if that is no Python."""
    try:
        return ast.dump(ast.parse(edit.applied(text.raw.decode())))
    except SyntaxError:
        return ""
