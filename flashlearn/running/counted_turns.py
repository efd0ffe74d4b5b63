"""Loops of an edited text that may never end: their turns are counted, and the text stops after so many."""

from __future__ import annotations

import ast
from types import CodeType

MOST_TURNS = 20_000
"""Turns of `while` loops outside kernels. What a kernel does there is counted in accesses to memory."""

COUNTER = "__one_more_turn__"
"""The name of the counter in the namespace of the text."""


class TooManyTurns(Exception):
    """An edited text goes round a loop that will not end."""


class Counter:
    """Called once in each turn: it raises TooManyTurns after `most` of them. `turns` are those so far."""

    def __init__(self, most: int = MOST_TURNS):
        self.most, self.turns = most, 0

    def __call__(self) -> None:
        self.turns += 1
        if self.turns > self.most:
            raise TooManyTurns


def compiled(text: str, file: str) -> CodeType:
    """The code of a text, in which each turn of a `while` calls `COUNTER`, except in kernels."""
    tree = ast.parse(text, file)
    for node in _outside_kernels(tree):
        if isinstance(node, ast.While):
            turn = ast.Expr(ast.Call(ast.Name(COUNTER, ast.Load()), [], []))
            ast.copy_location(turn, node.test)
            node.body.insert(0, ast.fix_missing_locations(turn))
    return compile(tree, file, "exec")


def _outside_kernels(node: ast.AST) -> list[ast.AST]:
    """The nodes of a tree, without those of decorated functions: a kernel's text is read by a compiler."""
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return []
    return [node, *(found for child in ast.iter_child_nodes(node) for found in _outside_kernels(child))]
