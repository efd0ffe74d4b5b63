"""Edits that repair an answer by doing work that it does not need.

lo = tl.maximum(offset - first_key, 0)           # negative in every program: all loops begin at 0
hi = tl.minimum(S_k, (pid + S_k) * BLOCK_Q)      # never below S_k

Such an edit makes up for any bound that is wrong, and says nothing about it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.avoidance import chooses_a_tile, makes_all_flags_alike
from flashlearn.explaining.edits.edit import Edit, SourceText, lines_of, name_of, names_in
from flashlearn.explaining.edits.naturalness import DEPTH, RANGES, bound_lines
from flashlearn.explaining.edits.operators import BRACKETS
from flashlearn.explaining.edits.returned_forms import FIXED_SIZE
from flashlearn.explaining.edits.slicing import assignments
from flashlearn.explaining.edits.trial import Trial, cost

CLAMPS = ("minimum", "maximum", "min", "max")

ALWAYS_MORE_WORK = ("round up", "atomic add")
"""Kinds of edits that may add accesses where nothing is missing."""


NUMBER_IN_SUM = re.compile(r"[+-] ?\d|\d ?[+-]")

LENGTH_IN_PRODUCT = re.compile(r"\([^()]*\b[A-Z](_?[a-z]\w*)?\b[^()]*\) ?\*")
"""A sum with a length in it, as a factor."""

MOST_CASES = 8
"""In how many of the failing cases, those with most accesses first, a bound must be without effect."""


def wastes_work(trial: Trial, edit: Edit) -> bool:
    """Whether a case that passed before took clearly more accesses with the edit that was just tried."""
    return trial.wasteful and edit.kind.name not in ALWAYS_MORE_WORK


def multiplies_a_length(text: str, edit: Edit) -> bool:
    """True for a bound of a loop that becomes `(i + S_k) * BLOCK`: it is beyond every end."""
    return (
        edit.kind is BRACKETS and edit.line in bound_lines(text) and bool(LENGTH_IN_PRODUCT.search(edit.new))
    )


def makes_up_for_all(trial: Trial, section: int, text: str, edit: Edit) -> bool:
    """Whether an edit of `text` repairs by another tile, needless work, or masks for all tiles."""
    return (
        wastes_work(trial, edit)
        or multiplies_a_length(text, edit)
        or makes_all_flags_alike(text, edit)
        or swallows_a_loop(trial, section, text, edit)
    )


def swallows_a_loop(trial: Trial, section: int, text: str, edit: Edit) -> bool:
    """Whether an edit of `text` avoids its mistake with another tile: a loop has fewer iterations, or more.

    A tile that was too small for all that a program needs is read in as many accesses as before.
    """
    chosen = chooses_a_tile(text, edit)
    if edit.kind is not FIXED_SIZE and not chosen:
        return False
    longest = max(trial.wrong, key=cost)
    taken = trial.accesses(section, edit.applied(text), longest)
    return taken is None or taken < cost(longest) or (chosen and taken != cost(longest))


def disables_a_bound(trial: Trial, section: int, text: str, edit: Edit) -> bool:
    """Whether an edit of a loop's bounds makes one of them of no effect: without it, nothing changes.

    `text` is the section before the edit, in which the bound has an effect.
    """
    if edit.line not in bound_lines(text):
        return False
    if edit.kind is BRACKETS and not NUMBER_IN_SUM.search(edit.new):
        return True  # a size times the size of a block is beyond every end
    wrong = sorted(trial.wrong, key=cost, reverse=True)[:MOST_CASES]
    edited = edit.applied(text)
    for unbounded in _without_a_bound(edited, edit.line):
        counts = ((trial.accesses(section, edited, o), trial.accesses(section, unbounded, o)) for o in wrong)
        if all(with_it is not None and with_it == without for with_it, without in counts):
            return True
    return False


def _without_a_bound(text: str, line: int) -> Iterator[str]:
    """The text without what `line` decides: a loop that begins at 0, or at the other part of a clamp."""
    tree = ast.parse(text)
    parameters = {
        arg.arg for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for arg in node.args.args
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) > 1]
    source = SourceText(text)
    for call in calls:
        name, (first, second) = name_of(call), call.args[:2]
        if name in RANGES and source.of(first) != "0" and line in _defining_lines(first, tree):
            yield _replaced(source, first, "0")
        if name not in CLAMPS or call.lineno not in bound_lines(text):
            continue
        for kept, dropped in ((first, second), (second, first)):
            simple = source.of(kept).isdigit() or source.of(kept) in parameters
            if simple and line in _defining_lines(dropped, tree):
                yield _replaced(source, call, source.of(kept))


def _replaced(source: SourceText, node: ast.AST, new: str) -> str:
    start, end = source.span(node)
    return (source.raw[:start] + new.encode() + source.raw[end:]).decode()


def _defining_lines(value: ast.expr, tree: ast.AST) -> set[int]:
    """The lines of a value and of the statements that compute it, a few assignments back."""
    lines, names = lines_of(value), names_in(value)
    for _ in range(DEPTH):
        for statement, targets, assigned in assignments(tree):
            if targets & names:
                lines |= lines_of(statement)
                names |= names_in(assigned)
    return lines
