r"""Small changes of an answer's text: is one of them all that it takes?

>>> [edit.new for edit in edits_of("def f(i, n):\n    return i <= n")][:3]
['i < n', 'i >= n', 'i > n']
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.calls import called
from flashlearn.explaining.edits.names import Families, families
from flashlearn.explaining.edits.operators import compared, computed, constant, named, subscript
from flashlearn.explaining.edits.statements import in_statements
from flashlearn.explaining.edits.text import Edit, Text, is_kernel


def edits_of(written: str) -> list[Edit]:
    """Every edit of the functions of a module section, each once. Raises SyntaxError."""
    text, found = Text(written), {}
    for function in text.functions():
        known, kernel = families(function), is_kernel(function)
        for statement in function.body:
            for node in ast.walk(statement):
                for edit in _of_node(text, node, known, kernel):
                    found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in in_statements(text, function, known, kernel):
            found.setdefault((edit.start, edit.end, edit.put), edit)
    return list(found.values())


def _of_node(text: Text, node: ast.AST, known: Families, kernel: bool) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        yield from compared(text, node)
    elif isinstance(node, ast.BinOp):
        yield from computed(text, node, kernel)
    elif isinstance(node, ast.UnaryOp):
        yield text.edit("sign", node, text.of(node.operand))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from named(text, node, known)
    elif isinstance(node, ast.Constant):
        yield from constant(text, node, known, kernel)
    elif isinstance(node, ast.Call):
        yield from called(text, node, known, kernel)
    elif isinstance(node, ast.Subscript):
        yield from subscript(text, node)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield text.edit("transposed", node, text.of(node.value))
    elif isinstance(node, ast.IfExp):
        for branch in (node.body, node.orelse):
            yield text.edit("branch", node, text.of(branch))
