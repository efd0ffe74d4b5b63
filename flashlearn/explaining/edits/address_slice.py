"""Which lines decide where a kernel reads and writes: one of them holds the mistake of a wrong access.

A backward slice from the addresses and masks of the accesses in question, continued in the launcher through
the parameters and the grid.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import is_kernel, lines_of, name_of, names_in
from flashlearn.explaining.edits.slicing import assignments, backward_slice, launches
from flashlearn.running.answer_source import Section

READS = ("load", "atomic_add", "gather")
WRITES = ("store", "atomic_add", "atomic_xchg", "atomic_max", "atomic_cas")


def address_slice(sections: Sequence[Section], accesses: Sequence[str], line: int | None) -> list[set[int]]:
    """For each section the lines, from 1, that decide the address or mask of some accesses.

    These are the accesses of that name in the learner's `line`, or all of that name if there are none in it.
    """
    trees = [ast.parse(section.text).body[0] for section in sections]
    lines: list[set[int]] = [set() for _ in sections]
    for i, (section, tree) in enumerate(zip(sections, trees, strict=True)):
        if isinstance(tree, ast.FunctionDef) and is_kernel(tree):
            here = line - section.line + 1 if line is not None else None
            names = _address_names(tree, accesses, here, lines[i])
            backward_slice(tree, names, lines[i])
        elif isinstance(tree, ast.FunctionDef):
            names = set()
            for call in launches(tree):
                lines[i] |= lines_of(call)
                names |= names_in(call)
            backward_slice(tree, names, lines[i])
    return lines


def operand_lines(sections: Sequence[Section], line: int | None) -> list[set[int]]:
    """For each section the lines, from 1, that assign the names which a learner's line reads."""
    lines: list[set[int]] = [set() for _ in sections]
    for i, section in enumerate(sections if line is not None else ()):
        tree, here = ast.parse(section.text).body[0], line - section.line + 1
        known = list(assignments(tree))
        reads = [value for statement, _, value in known if here in lines_of(statement)]
        names = set().union(*map(names_in, reads))
        for statement, targets, _ in known:
            lines[i] |= lines_of(statement) if targets & names else set()
    return lines


def condition_lines(sections: Sequence[Section], line: int | None) -> list[set[int]]:
    """For each section the lines, from 1, of the conditions on which the value of a learner's line depends.

    Comparisons are assigned to names that the line reads, or it is in a branch with such a test.
    """
    lines: list[set[int]] = [set() for _ in sections]
    for i, section in enumerate(sections if line is not None else ()):
        tree, here = ast.parse(section.text), line - section.line + 1
        for found in operand_lines([section], line):
            compares = (n for n in ast.walk(tree) if isinstance(n, ast.Compare) and n.lineno in found)
            lines[i].update(*map(lines_of, compares))
        tests = (n.test for n in ast.walk(tree) if isinstance(n, ast.If) and _is_around(n, here))
        lines[i].update(*map(lines_of, tests))
    return lines


def _is_around(branch: ast.If, line: int) -> bool:
    return branch.body[0].lineno <= line <= (branch.end_lineno or line)


def _address_names(tree: ast.AST, accesses: Sequence[str], line: int | None, lines: set[int]) -> set[str]:
    """The names in addresses and masks of the accesses; of those in the line, if there are any."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and name_of(n) in accesses]
    in_line = [call for call in calls if line in lines_of(call)]
    names: set[str] = set()
    for call in in_line or calls:
        value = call.args[1:2] if name_of(call) in WRITES else []
        parts = [a for a in call.args if a not in value]
        parts += [k.value for k in call.keywords if k.arg != "other"]
        for part in parts:
            lines |= lines_of(part)
            names |= names_in(part)
    return names
