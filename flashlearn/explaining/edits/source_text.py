"""The text of an answer as a tree whose nodes know their places in it, and edits of that text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """One small change of a text: the bytes from `start` to `end` become `new`.

    `kind` says what is done, `old` and `new` what stood there and what stands there then, as the learner
    would read it; `line` counts from 1. Of one kind, a smaller `variant` is likelier; `about` says of what
    it is: "strides" for their names, "address" where an address is computed, "mask" where a comparison is.
    `also` are the other lines of a change that is made in several; `causal` says that it stands in a branch
    for the causal mask, `heads` that it concerns names of a batch or a head.
    """

    kind: str
    start: int
    end: int
    put: str
    line: int
    old: str
    new: str
    variant: int = 0
    about: str = ""
    also: tuple[int, ...] = ()
    causal: bool = False
    heads: bool = False

    def applied(self, text: str) -> str:
        """The text after the edit."""
        raw = text.encode()
        return (raw[: self.start] + self.put.encode() + raw[self.end :]).decode()


class Text:
    """A module section: its tree, and where each node stands."""

    def __init__(self, text: str):
        self.raw = text.encode()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First byte of a node, and the first one behind it."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def edit(self, kind: str, node: ast.AST, new: str, variant: int = 0, about: str = "") -> Edit:
        """The node's text exchanged for another."""
        start, end = self.span(node)
        return Edit(kind, start, end, new, node.lineno, self.of(node), new, variant, about)

    def functions(self) -> Iterator[ast.FunctionDef]:
        """The functions of the text, outermost only."""
        return (node for node in self.tree.body if isinstance(node, ast.FunctionDef))


def bracketed(node: ast.AST, written: str) -> str:
    """The text of an operand, in brackets where it needs them."""
    return f"({written})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp) else written


def is_kernel(function: ast.FunctionDef) -> bool:
    """True for a function under a decorator that mentions jit."""
    return any("jit" in ast.unparse(d) for d in function.decorator_list)
