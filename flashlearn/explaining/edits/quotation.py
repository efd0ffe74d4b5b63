"""What a report quotes of an edit: a name or number alone says nothing, so the expression around it is shown.

>>> quoted("def f(x, n):\\n    return x.sum(0) / n", edit)  # of an edit that puts 1 in the place of 0
('x.sum(0)', 'x.sum(1)')
"""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed

BARE = re.compile(r"""\(?-?(?:float\(["'][-+a-z]*["']\)|[\w.]+|["'][^"']*["'])\)?""")
"""A name, an attribute or a number, in brackets or not."""

BRACKETED_NAME = re.compile(r"(?<![\w)\]])\((\w+)\)")
"""A name or number in brackets that are not those of a call."""

LONGEST = 60
"""Bytes of an expression that is quoted because a smaller one stands twice in its line."""

PASSED_OVER = ast.Attribute | ast.UnaryOp | ast.Slice | ast.Starred | ast.Index | ast.arguments
"""What surrounds a name without saying what it is for."""

EXPLAINING = ast.expr | ast.keyword | ast.Assign | ast.AugAssign | ast.Return


def quoted(text: str, edit: Edit) -> tuple[str, str]:
    """The old and the new text of an edit, within the expression around them if the old one is a bare name.

    Of a keyword argument that is the keyword and its value; of an edit in several places it is the first.
    The new text is shown as one would write it: `n` for `n - 0`, `n + 0`, `n * 1` or `n + b - b`.
    """
    old, new = _surrounded(text, edit)
    shorter = simplified(new)
    return (old, new) if shorter == old else (old, shorter)


def simplified(written: str) -> str:
    """The text of an expression without summands of 0, factors of 1, and terms that cancel."""
    for _ in range(written.count("0") + written.count("1") + written.count("-")):
        shorter = _once_simplified(written)
        if shorter == written:
            break
        written = BRACKETED_NAME.sub(r"\1", shorter)
    return written


def without_spare_parentheses(written: str, old: str) -> str:
    """The text without brackets that an edit has put around all of it, or around a name, number or call.

    Those that `old` has as well are the learner's own.

    >>> without_spare_parentheses("(tl.maximum(a, b)) // (BLOCK)", "a // (BLOCK)")
    'tl.maximum(a, b) // (BLOCK)'
    """
    for start, end in _parentheses(written):
        inner = written[start + 1 : end]
        if f"({inner})" in old or not (len(written) == end + 1 - start or _stands_alone(inner)):
            continue
        shorter = written[:start] + inner + written[end + 1 :]
        if _tree(inner) is not None and _tree(written) == _tree(shorter):
            return without_spare_parentheses(shorter, old)
    return written


def _parentheses(written: str) -> list[tuple[int, int]]:
    """The places of the brackets that are not those of a call, the outer ones first; strings are not read."""
    opened, pairs = [], []
    for at, sign in enumerate(written):
        if sign == "(":
            opened.append(at)
        elif sign == ")" and opened:
            pairs.append((opened.pop(), at))
    return sorted(pair for pair in pairs if not re.search(r"[\w)\]]\s*$", written[: pair[0]]))


def _stands_alone(inner: str) -> bool:
    """Whether brackets around this text never change what it is."""
    try:
        node = ast.parse(inner, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)


def _tree(written: str) -> str | None:
    """The text as a tree; None where it is no statement, or a tuple, which may need its brackets."""
    try:
        body = ast.parse(written).body
    except SyntaxError:
        return None
    tuples = len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Tuple)
    return None if tuples else ast.dump(ast.Module(body, []))


def _once_simplified(written: str) -> str:
    try:
        text = SourceText(written)
    except SyntaxError:  # a part of a statement
        return written
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.BinOp):
            continue
        start, end = text.span(node)
        rest = _without_effect(text, node)
        if rest is not None:
            return (text.raw[:start] + rest.encode() + text.raw[end:]).decode()
    return written


def _without_effect(text: SourceText, node: ast.BinOp) -> str | None:
    """The operand that is all of an operation; None where both count."""
    left, right, adds = node.left, node.right, isinstance(node.op, ast.Add | ast.Sub)
    neutral = 0 if adds else 1 if isinstance(node.op, ast.Mult) else None
    if neutral is None:
        return None
    if _is_number(right, neutral):
        return _operand(text, node, left)
    if _is_number(left, neutral) and not isinstance(node.op, ast.Sub):
        return bracketed(right, text.of(right))
    inner = left if adds and isinstance(left, ast.BinOp) else None
    opposite = {ast.Add: ast.Sub, ast.Sub: ast.Add}.get(type(node.op))
    if inner is None or not isinstance(inner.op, opposite) or ast.dump(inner.right) != ast.dump(right):
        return None
    return _operand(text, node, inner.left)


def _operand(text: SourceText, node: ast.BinOp, first: ast.expr) -> str:
    """The first operand of an operation, as written, and in brackets if it has lost its own."""
    own = text.span(first)[0] > text.span(node)[0]
    return bracketed(first, text.of(first)) if own else text.of(first)


def _is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == number


def _surrounded(text: str, edit: Edit) -> tuple[str, str]:
    """The texts before and after, within the expression around them if the old one is a bare name."""
    source, size = SourceText(text), len(edit.old.encode())
    start, end = edit.start, edit.start + size
    if edit.kind.quotes_alone or not BARE.fullmatch(edit.old):
        return edit.old, edit.new
    if source.raw[start:end].decode(errors="replace") != edit.old:
        return edit.old, edit.new
    around = _around(source, start, end)
    if around is None:
        return edit.old, edit.new
    first, last = around
    head, tail = source.raw[first:start].decode(), source.raw[end:last].decode()
    return f"{head}{edit.old}{tail}", f"{head}{edit.new}{tail}"


def _around(source: SourceText, start: int, end: int) -> tuple[int, int] | None:
    """The span of the smallest expression that says what the text between two bytes is for.

    Where its line has it twice, it is a larger one, if that is not long.
    """
    spans = []
    indices = {node.slice for node in ast.walk(source.tree) if isinstance(node, ast.Subscript)}
    for node in ast.walk(source.tree):
        if isinstance(node, EXPLAINING) and not isinstance(node, PASSED_OVER) and node not in indices:
            first, last = source.span(node)
            if first <= start and end <= last and last - first > end - start:
                spans.append((last - first, first, last))
    for size, first, last in sorted(spans):
        line = source.raw[: source.raw.rfind(b"\n", 0, first) + 1]
        whole = source.raw[len(line) :].partition(b"\n")[0]
        if size <= LONGEST and whole.count(source.raw[first:last]) == 1:
            return first, last
    return min(spans)[1:] if spans else None
