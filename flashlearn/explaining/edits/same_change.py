"""Other lines of a formula in which the change that repairs it would do so as well.

A factor that is missing in `a * M` may be put into the line that computes `a`: the numbers cannot tell which
of the two lines lacks it, so both are said, first the one beside which the factor stands already.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import Edit, lines_of
from flashlearn.explaining.edits.naturalness import naturalness
from flashlearn.explaining.edits.trial import Trial
from flashlearn.running.answer_source import Section

MOST_TRIED = 8
"""So many edits of other lines are tried."""

ADDED = {"missing factor": ast.Mult, "missing divisor": ast.Div}
DROPPED = "redundant operand"

Numbered = tuple[int, Edit]


def with_other_lines(
    trial: Trial, sections: Sequence[Section], found: Numbered, remaining: Sequence[Numbered]
) -> tuple[Numbered, tuple[int, ...]]:
    """The edit to report of those that make the same change, and the learner's lines of the others."""
    change = _change(found[1])
    if not change:
        return found, ()
    level, same, tried = naturalness(sections[found[0]].text, found[1]), [found], 0
    for i, edit in remaining:
        if trial.left <= 0 or tried == MOST_TRIED:
            break
        lines = {(at, one.line) for at, one in same}
        if (i, edit.line) in lines or _change(edit) != change or naturalness(sections[i].text, edit) > level:
            continue
        text, tried = edit.applied(sections[i].text), tried + 1
        if trial.repaired(i, text) == trial.bad and trial.generalises(i, text, trial.bad):
            same.append((i, edit))
    first = max(same, key=lambda one: _beside(sections[one[0]].text, one[1], change))
    others = (sections[i].line + edit.line - 1 for i, edit in same if (i, edit) != first)
    return first, tuple(sorted(others))


def _change(edit: Edit) -> tuple[str, ...]:
    """The factor or divisor that an edit adds or takes away, with the edit's kind; () for other edits."""
    old, new = _expression(edit.old), _expression(edit.new)
    if edit.kind.name in ADDED:
        return (edit.kind.name, *_more(new, old, ADDED[edit.kind.name]))
    if edit.kind.name == DROPPED:
        return (edit.kind.name, *_more(old, new, ast.Mult), *_more(old, new, ast.Div))
    return ()


def _more(whole: ast.expr | None, part: ast.expr | None, operation: type[ast.operator]) -> tuple[str, ...]:
    """What a product has more than one of its operands."""
    if whole is None or part is None or not isinstance(whole, ast.BinOp):
        return ()
    if not isinstance(whole.op, operation) or ast.dump(whole.left) != ast.dump(part):
        return ()
    return (ast.unparse(whole.right),)


def _expression(written: str) -> ast.expr | None:
    try:
        return ast.parse(written.strip(), mode="eval").body
    except SyntaxError:
        return None


def _beside(text: str, edit: Edit, change: tuple[str, ...]) -> int:
    """2 where the factor is one in the edit's own statement, 1 where in one next to it, else 0."""
    bodies = [getattr(node, "body", None) for node in ast.walk(ast.parse(text))]
    for body in (one for one in bodies if isinstance(one, list)):
        at = next((n for n, s in enumerate(body) if edit.line in lines_of(s)), None)
        if at is not None and not hasattr(body[at], "body"):
            if _multiplies(body[at], change[-1]):
                return 2
            return int(any(_multiplies(one, change[-1]) for one in body[max(0, at - 1) : at + 2]))
    return 0


def _multiplies(statement: ast.stmt, factor: str) -> bool:
    products = (n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    return any(factor in (ast.unparse(n.left), ast.unparse(n.right)) for n in products)
