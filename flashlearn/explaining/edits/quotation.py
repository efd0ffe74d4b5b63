"""What a report quotes of an edit: a name or number alone says nothing, so the expression around it is shown.

>>> quoted("def f(x, n):\\n    return x.sum(0) / n", edit)  # of an edit that puts 1 in the place of 0
('x.sum(0)', 'x.sum(1)')
"""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.edit import Edit, SourceText

BARE = re.compile(r"""\(?-?(?:float\(["'][-+a-z]*["']\)|[\w.]+|["'][^"']*["'])\)?""")
"""A name, an attribute or a number, in brackets or not."""

PASSED_OVER = ast.Attribute | ast.UnaryOp | ast.Slice | ast.Starred | ast.Index | ast.arguments
"""What surrounds a name without saying what it is for."""

EXPLAINING = ast.expr | ast.keyword | ast.Assign | ast.AugAssign | ast.Return


def quoted(text: str, edit: Edit) -> tuple[str, str]:
    """The old and the new text of an edit, within the expression around them if the old one is a bare name.

    Of a keyword argument that is the keyword and its value; of an edit in several places it is the first.
    """
    source, size = SourceText(text), len(edit.old.encode())
    start, end = edit.start, edit.start + size
    if not BARE.fullmatch(edit.old) or source.raw[start:end].decode(errors="replace") != edit.old:
        return edit.old, edit.new
    around = _around(source, start, end)
    if around is None:
        return edit.old, edit.new
    first, last = around
    head, tail = source.raw[first:start].decode(), source.raw[end:last].decode()
    return f"{head}{edit.old}{tail}", f"{head}{edit.new}{tail}"


def _around(source: SourceText, start: int, end: int) -> tuple[int, int] | None:
    """The span of the smallest expression that says what the text between two bytes is for."""
    spans = []
    for node in ast.walk(source.tree):
        if isinstance(node, EXPLAINING) and not isinstance(node, PASSED_OVER):
            first, last = source.span(node)
            if first <= start and end <= last and last - first > end - start:
                spans.append((last - first, first, last))
    return min(spans)[1:] if spans else None
