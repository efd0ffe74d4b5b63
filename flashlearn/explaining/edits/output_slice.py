"""Which lines bear on which outputs: what came out right everywhere was computed by lines that are right.

From the stores into an output back through what they are computed from; what one kernel stores and another
one loads is followed through the launcher.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.address_slice import (
    WRITES,
    assignments,
    back,
    launches,
    names_in,
    text_lines,
)
from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.source_text import is_kernel
from flashlearn.outcome import Outcome
from flashlearn.running.answer_source import Section

Lines = list[set[int]]


def suspects(found: Sequence[Section], outputs: Sequence[str], outcomes: Sequence[Outcome]) -> Lines:
    """The lines, from 1 in each section, in which one slip can have made just these outputs wrong.

    They bear on a wrong output and on no right one, or on all outputs where all are wrong. A section without
    any says nothing, and none does where outputs cannot be told apart by their stores, or where a case was
    not judged by its numbers.
    """
    judged = [check for outcome in outcomes for check in outcome.outputs]
    bad = {check.name for check in judged if not check.ok}
    if len(outputs) < 2 or not bad or len(judged) < len(outputs) * len(outcomes):
        return [set() for _ in found]
    bearing = lines_of(found, outputs)
    if set(bearing) != set(outputs):
        return _named_after(found, outputs, bad)
    if bad == set(outputs):
        return [set.intersection(*(bearing[name][i] for name in outputs)) for i in range(len(found))]
    return [
        set().union(*(bearing[name][i] for name in bad))
        - set().union(*(bearing[name][i] for name in outputs if name not in bad))
        for i in range(len(found))
    ]


def _named_after(found: Sequence[Section], outputs: Sequence[str], bad: set[str]) -> Lines:
    """In Gluon kernels, whose stores have no pointers, lines with a name that begins with a wrong output's.

    There `dq_tile` is what goes to dq. Where every output is wrong that says nothing.
    """
    lines: Lines = [set() for _ in found]
    if bad == set(outputs) or not any("@gluon" in section.text for section in found):
        return lines
    for i, section in enumerate(found):
        for node in ast.walk(ast.parse(section.text)):
            if isinstance(node, ast.Name) and node.id.partition("_")[0] in bad:
                lines[i].add(node.lineno)
    return lines


def lines_of(found: Sequence[Section], outputs: Sequence[str]) -> dict[str, Lines]:
    """For each output whose stores are found, the lines of each section's kernel that bear on it."""
    trees = [ast.parse(section.text).body[0] for section in found]
    launcher = trees[-1]
    kernels = {t.name: i for i, t in enumerate(trees) if isinstance(t, ast.FunctionDef) and is_kernel(t)}
    if not isinstance(launcher, ast.FunctionDef):
        return {}
    if not kernels:
        return _lines_of_formulas(launcher, outputs, len(found))
    handed = [
        (kernels[name], _handed(trees[kernels[name]], call))
        for call in launches(launcher)
        if (name := getattr(call.func.value, "id", "")) in kernels
    ]
    bearing: dict[str, Lines] = {}
    for output, tensor in zip(outputs, _returned(launcher, len(outputs)), strict=False):
        lines: Lines = [set() for _ in found]
        if _follow(tensor, trees, handed, lines):
            bearing[output] = lines
    return bearing


def _lines_of_formulas(function: ast.FunctionDef, outputs: Sequence[str], sections: int) -> dict[str, Lines]:
    """The same of a function that computes by itself, the last of the sections."""
    bearing: dict[str, Lines] = {}
    for output, value in zip(outputs, _values(function, len(outputs)), strict=False):
        lines: Lines = [set() for _ in range(sections)]
        lines[-1] |= text_lines(value)
        back(function, names_in(value), lines[-1])
        bearing[output] = lines
    return bearing


def _follow(
    tensor: str, trees: Sequence[ast.AST], handed: Sequence[tuple[int, dict[str, str]]], lines: Lines
) -> bool:
    """Add the lines that bear on a tensor of the launcher; False if no kernel stores into it."""
    known, new = {tensor}, {tensor}
    stored = False
    while new:
        more: set[str] = set()
        for i, parameters in handed:
            into = {parameter for parameter, name in parameters.items() if name in new}
            names = _stored(trees[i], into, lines[i]) if into else set()
            stored |= bool(names)
            if names:
                reached = back(trees[i], names, lines[i])
                more |= {name for parameter, name in parameters.items() if parameter in reached}
        new = more - known
        known |= new
    return stored


def _stored(tree: ast.AST, into: set[str], lines: set[int]) -> set[str]:
    """The names in the stores into these parameters, or into pointers that were made of them."""
    pointers = set(into)
    for _, targets, value in assignments(tree):
        if _first(value) in pointers:
            pointers |= targets
    names: set[str] = set()
    for call in ast.walk(tree):
        stores = isinstance(call, ast.Call) and name_of(call) in WRITES and call.args
        if stores and _first(call.args[0]) in pointers:
            lines |= text_lines(call)
            names |= names_in(call)
    return names


def _first(address: ast.AST) -> str:
    """The name that an address begins with."""
    while isinstance(address, ast.BinOp):
        address = address.left
    return getattr(address, "id", "")


def _handed(kernel: ast.AST, call: ast.Call) -> dict[str, str]:
    """Which of the launcher's names stands for which parameter; none from a starred argument on."""
    parameters = [argument.arg for argument in kernel.args.args]
    found: dict[str, str] = {}
    for parameter, value in zip(parameters, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        if isinstance(value, ast.Name):
            found[parameter] = value.id
    named = {k.arg: k.value.id for k in call.keywords if k.arg and isinstance(k.value, ast.Name)}
    return found | named


def _returned(launcher: ast.FunctionDef, count: int) -> Iterator[str]:
    """The names that the launcher returns last, as many as there are outputs, or none."""
    return map(_object, _values(launcher, count))


def _values(function: ast.FunctionDef, count: int) -> list[ast.expr]:
    """What the function returns last: as many expressions as there are outputs, or none."""
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    parts = getattr(returns[-1], "elts", returns[-1:]) if returns else []
    return parts if len(parts) == count else []


def _object(value: ast.AST) -> str:
    """The name that stands first: `dq` in `dq.sum(0).to(dtype)`."""
    while isinstance(value, ast.Call | ast.Attribute):
        value = value.func if isinstance(value, ast.Call) else value.value
    return getattr(value, "id", "")
