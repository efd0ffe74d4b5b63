"""An edit of an answer's text: its kind, the change itself, and the text as a tree that knows positions.

Each kind is declared once, beside the generator that makes its edits. Only its odds are elsewhere, in
`odds.json`, since they are data.

>>> kind_named("comparison").moves_access
True
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Evidence = Literal["", "nan", "race", "access slice", "form"]


@dataclass(frozen=True, eq=False)
class EditKind:
    """A kind of edit. There is one object of each, so kinds are compared by identity.

    The `sentence` is a template with `{line}`, `{old}` and `{new}`: what the line has, and then the beginning
    of a sentence that the result of the edit completes. The `question` is the learner's next step. The flags
    say what is true of every edit of the kind.
    """

    name: str
    question: str
    sentence: str = "Line {line} has `{old}`; with `{new}`"

    quotes_both: bool = True
    """The sentence quotes the old text and the new one; of two long texts it shows where they differ."""

    quotes_alone: bool = False
    """A name or number is quoted alone: the sentence says what it is for."""

    moves_access: bool = False
    """It can move an access to memory, or mask a part of it."""

    changes_values: bool = False
    """It changes what is computed, and not where it is stored."""

    changes_dtype: bool = False
    """It changes the type in which a number is held."""

    mixes_names: bool = False
    """It puts one name in the place of another."""

    lengthens_loop: bool = False
    """It can make a loop longer: a kernel whose masks are right then only does superfluous work."""

    fills_absence: bool = False
    """It changes what is read where nothing is stored: every mistake that ends in NaN looks like that."""

    by_chance: bool = False
    """It may repair a single case by chance: at least two wrong cases are needed to believe it."""

    by_chance_in_integers: bool = False
    """The same in a formula of integers."""

    whole_expression: bool = False
    """It concerns every name in the expression, not only those that it changes."""

    often_repeated: bool = False
    """Learners make this mistake in several lines as readily as in one."""

    inserts_statement: bool = False
    """It adds a statement, so the line of the edit itself says nothing about it."""

    in_gluon: bool = True
    """It applies to Gluon kernels too, whose loads have no masks and which convert no types implicitly."""

    requires: Evidence = ""
    """It is tried only with evidence: an output holds NaN, programs race, the lines of an access are known,
    or an output has another shape or dtype than it should."""

    repeats_as: str = ""
    """The name of a kind whose edits may be the same mistake in other lines; else its own name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return kind_named, (self.name,)


EDIT_KINDS: dict[str, EditKind] = {}
"""Every kind by its name. Complete once `flashlearn.explaining.edits` is imported."""


def edit_kind(name: str, **traits: Any) -> EditKind:
    """Declare a kind; `traits` are the fields of `EditKind`. Raises ValueError for a name that is taken."""
    if name in EDIT_KINDS:
        raise ValueError(f"two kinds of edit are named {name!r}")
    EDIT_KINDS[name] = EditKind(name, **traits)
    return EDIT_KINDS[name]


def kind_named(name: str) -> EditKind:
    """The kind of that name. Raises KeyError if there is none."""
    return EDIT_KINDS[name]


About = Literal["", "strides", "address", "mask"]


@dataclass(frozen=True)
class Edit:
    """One small change of a text: the bytes from `start` to `end` become `put`.

    `old` and `new` are the text before and after as the learner reads it, `line` counts from 1. Among edits
    of one kind a smaller `variant` is likelier. `about` says what the edit changes: "strides" for their
    names, "address" in a statement that computes addresses, "mask" in a comparison. `also` are the other
    lines of an edit that is made in several. `causal` edits are in a branch for the causal mask, `heads`
    edits concern names of a batch or a head. An edit `reads_unread` if it puts a name that nothing read.
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
    reads_unread: bool = False

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
        """The outermost functions of the text, and the methods of its classes."""
        classes = (node.body for node in self.tree.body if isinstance(node, ast.ClassDef))
        nodes = itertools.chain(self.tree.body, *classes)
        return (node for node in nodes if isinstance(node, ast.FunctionDef))


def bracketed(node: ast.AST, written: str) -> str:
    """The text of an operand, in brackets if it needs them."""
    joined = ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Compare | ast.BoolOp
    return f"({written})" if isinstance(node, joined) else written


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
