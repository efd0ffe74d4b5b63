"""Edits of a formula that repair it at a place which may be right: a helper, or a factor taken back."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import Edit, lines_of, name_of
from flashlearn.explaining.edits.slicing import lines_that_read
from flashlearn.running.answer_source import Section

AT_THE_CALL = ("transpose", "operand transposed", "argument order", "operand order", "exchanged names")
AT_THE_CALL += ("sign", "missing factor", "redundant factor", "missing divisor", "name", "other operand")
"""Kinds that a call's arguments, or what is made of its result, may need as well as the function's body."""

TAKEN_BACK = {"missing divisor": (ast.Div, ast.Mult), "missing factor": (ast.Mult, ast.Div)}
"""By kind the operation that an edit adds, and the one that it would take back."""


def may_be_elsewhere(sections: Sequence[Section], number: int, edit: Edit) -> bool:
    """Whether an edit of that section may make up for another place that is the wrong one."""
    return _of_a_rule(sections, number, edit) or _takes_a_factor_back(sections[number].text, edit)


def _of_a_rule(sections: Sequence[Section], number: int, edit: Edit) -> bool:
    """True for a function that is called once, with other things than its parameters are called.

    Such a function is a rule for any arguments, and may be right where its call is not.
    """
    if number == len(sections) - 1 or edit.kind.name not in AT_THE_CALL:
        return False
    function = ast.parse(sections[number].text).body[0]
    if not isinstance(function, ast.FunctionDef):
        return False
    calls = [
        node
        for one in sections
        for node in ast.walk(ast.parse(one.text))
        if isinstance(node, ast.Call) and name_of(node) == function.name
    ]
    if len(calls) != 1:
        return False
    given = [ast.unparse(value) for value in (*calls[0].args, *(k.value for k in calls[0].keywords))]
    return not {*given} & {argument.arg for argument in function.args.args}


def _takes_a_factor_back(text: str, edit: Edit) -> bool:
    """True for `x / n` in place of `x`, where a line that reads x multiplies by n: it is too much there."""
    if edit.kind.name not in TAKEN_BACK:
        return False
    added, taken_back = TAKEN_BACK[edit.kind.name]
    try:
        new = ast.parse(edit.new.strip(), mode="eval").body
    except SyntaxError:
        return False
    if not (isinstance(new, ast.BinOp) and isinstance(new.op, added) and isinstance(new.right, ast.Name)):
        return False
    readers = lines_that_read(text, edit.line) - {edit.line}
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, taken_back)
        and bool(lines_of(node) & readers)
        and any(isinstance(n, ast.Name) and n.id == new.right.id for n in (node.left, node.right))
        for node in ast.walk(ast.parse(text))
    )
