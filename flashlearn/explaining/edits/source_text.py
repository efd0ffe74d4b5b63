"""The text of an answer as a tree whose nodes know their positions, and edits of that text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from flashlearn.explaining.edits.kinds import EditKind

About = Literal["", "strides", "address", "mask"]


@dataclass(frozen=True)
class Edit:
    """One small change of a text: the bytes from `start` to `end` become `put`.

    `old` and `new` are the text before and after as the learner reads it, `line` counts from 1. Among edits
    of one kind a smaller `variant` is likelier. `about` says what the edit changes: "strides" for their
    names, "address" in a statement that computes addresses, "mask" in a comparison. `also` are the other
    lines of an edit that is made in several. `causal` edits are in a branch for the causal mask, `heads`
    edits concern names of a batch or a head.
    """

    kind: EditKind
    start: int
    end: int
    put: str
    line: int
    old: str
    new: str
    variant: int = 0
    about: About = ""
    also: tuple[int, ...] = ()
    causal: bool = False
    heads: bool = False

    def applied(self, text: str) -> str:
        """The text after the edit."""
        raw = text.encode()
        return (raw[: self.start] + self.put.encode() + raw[self.end :]).decode()


class SourceText:
    """One section of an answer: its bytes, its tree, and the position of each node."""

    def __init__(self, text: str):
        self.raw = text.encode()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The first byte of a node, and the first one after it."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def edit(self, kind: EditKind, node: ast.AST, new: str, variant: int = 0, about: About = "") -> Edit:
        """The edit that puts another text in a node's place."""
        start, end = self.span(node)
        return Edit(kind, start, end, new, node.lineno, self.of(node), new, variant, about)

    def operator_edit(
        self, kind: EditKind, node: ast.Compare | ast.BinOp, old: str, new: str, variant: int
    ) -> Iterator[Edit]:
        """The edit that exchanges the operator between two operands, quoted with the whole expression."""
        comparison = isinstance(node, ast.Compare)
        right = node.comparators[0] if comparison else node.right
        start, end = self.span(node)
        at = self.raw.find(old.encode(), self.span(node.left)[1], self.span(right)[0])
        if at >= 0:
            put = (self.raw[start:at] + new.encode() + self.raw[at + len(old) : end]).decode()
            yield Edit(kind, start, end, put, node.lineno, self.of(node), put, variant)

    def functions(self) -> Iterator[ast.FunctionDef]:
        """The outermost functions of the text."""
        return (node for node in self.tree.body if isinstance(node, ast.FunctionDef))


def bracketed(node: ast.AST, written: str) -> str:
    """The text of an operand, in brackets if it needs them."""
    return f"({written})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp) else written


def is_kernel(function: ast.FunctionDef) -> bool:
    """True for a function under a decorator that mentions jit."""
    return any("jit" in ast.unparse(d) for d in function.decorator_list)


def name_of(node: ast.Call) -> str:
    """The last part of the name that is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def names_in(node: ast.AST) -> set[str]:
    """The names that occur below a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def lines_of(node: ast.AST) -> set[int]:
    """The lines of a node, from 1."""
    return set(range(node.lineno, node.end_lineno + 1))
