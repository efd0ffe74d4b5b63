"""Which lines compute which outputs: an output that is right in every case clears the lines it depends on.

A backward slice from the stores into an output. What one kernel stores and another one loads is followed
through the launcher.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.address_slice import WRITES
from flashlearn.explaining.edits.edit import is_kernel, lines_of, name_of, names_in
from flashlearn.explaining.edits.slicing import assignments, backward_slice, launches
from flashlearn.outcome import Outcome
from flashlearn.running.answer_source import Section

Lines = list[set[int]]

NONE = 0
"""No line: all that a section has in which the right outputs clear every line."""


def suspect_lines(sections: Sequence[Section], outputs: Sequence[str], outcomes: Sequence[Outcome]) -> Lines:
    """The lines, from 1 in each section, in which one mistake can make exactly these outputs wrong.

    A wrong output depends on them and no right one does; if all outputs are wrong, all depend on them. Where
    no such line is known, they are those on which no right one depends. A section without lines says nothing.
    Every section is without lines if the stores of the outputs cannot be told apart, or if a case was not
    judged by its numbers.
    """
    judged = [check for outcome in outcomes for check in outcome.outputs]
    bad = {check.name for check in judged if not check.ok}
    if len(outputs) < 2 or not bad or len(judged) < len(outputs) * len(outcomes):
        return [set() for _ in sections]
    slices = output_slices(sections, outputs)
    if set(slices) != set(outputs):
        return _lines_named_after(sections, outputs, bad)
    if bad == set(outputs):
        return [set.intersection(*(slices[name][i] for name in outputs)) for i in range(len(sections))]
    found = [
        set().union(*(slices[name][i] for name in bad))
        - set().union(*(slices[name][i] for name in outputs if name not in bad))
        for i in range(len(sections))
    ]
    found[-1] |= _computed_in_return(sections[-1], outputs, bad)
    right = [name for name in outputs if name not in bad]
    cleared = [set().union(*(slices[name][i] for name in right)) for i in range(len(sections))]
    return [
        lines or _not_cleared(section, also)
        for section, lines, also in zip(sections, found, cleared, strict=True)
    ]


def _not_cleared(section: Section, cleared: set[int]) -> set[int]:
    """The other lines of a section, or none if nothing is known of it."""
    others = {*range(1, len(section.text.splitlines()) + 1)} - cleared
    return (others or {NONE}) if cleared else set()


def output_slices(sections: Sequence[Section], outputs: Sequence[str]) -> dict[str, Lines]:
    """For each output with a known store, the lines of each section on which it depends."""
    trees = [ast.parse(section.text).body[0] for section in sections]
    launcher = trees[-1]
    kernels = {t.name: i for i, t in enumerate(trees) if isinstance(t, ast.FunctionDef) and is_kernel(t)}
    if not isinstance(launcher, ast.FunctionDef):
        return {}
    if not kernels:
        return _formula_slices(launcher, outputs, len(sections))
    arguments = [
        (kernels[name], _argument_names(trees[kernels[name]], call))
        for call in launches(launcher)
        if (name := getattr(call.func.value, "id", "")) in kernels
    ]
    slices: dict[str, Lines] = {}
    for output, tensor in zip(outputs, _returned_names(launcher, len(outputs)), strict=False):
        lines: Lines = [set() for _ in sections]
        if _slice_tensor(tensor, trees, arguments, lines) or _slice_value(tensor, trees, lines):
            slices[output] = lines
    return slices


def _slice_value(name: str, trees: Sequence[ast.AST], lines: Lines) -> bool:
    """Add the lines on which a value depends that a function returns; all of each one that is named there.

    False if nothing in the launcher, the last of the trees, computes it.
    """
    reached = backward_slice(trees[-1], {name}, lines[-1]) if name else set()
    for tree, own in zip(trees[:-1], lines[:-1], strict=True):
        if getattr(tree, "name", "") in reached:
            own |= {*range(1, tree.end_lineno + 1)}
    return bool(lines[-1])


def _lines_named_after(sections: Sequence[Section], outputs: Sequence[str], bad: set[str]) -> Lines:
    """In Gluon kernels, whose stores have no pointers, lines with a name that begins with a wrong output's.

    There `dq_tile` is stored to dq. If every output is wrong, that says nothing.
    """
    lines: Lines = [set() for _ in sections]
    if bad == set(outputs) or not any("@gluon" in section.text for section in sections):
        return lines
    for i, section in enumerate(sections):
        for node in ast.walk(ast.parse(section.text)):
            if isinstance(node, ast.Name) and node.id.partition("_")[0] in bad:
                lines[i].add(node.lineno)
    return lines


def _formula_slices(function: ast.FunctionDef, outputs: Sequence[str], sections: int) -> dict[str, Lines]:
    """The slices of a function without kernels, the last one of the sections."""
    slices: dict[str, Lines] = {}
    for output, value in zip(outputs, _unpacked(_returned_values(function), len(outputs)), strict=False):
        lines: Lines = [set() for _ in range(sections)]
        lines[-1] |= lines_of(value)
        backward_slice(function, names_in(value), lines[-1])
        slices[output] = lines
    return slices


def _slice_tensor(
    tensor: str, trees: Sequence[ast.AST], arguments: Sequence[tuple[int, dict[str, str]]], lines: Lines
) -> bool:
    """Add the lines on which a tensor of the launcher depends; False if no kernel stores into it."""
    known, new = {tensor}, {tensor}
    stored = False
    while new:
        more: set[str] = set()
        for i, parameters in arguments:
            into = {parameter for parameter, name in parameters.items() if name in new}
            names = _stored_names(trees[i], into, lines[i]) if into else set()
            stored |= bool(names)
            if names:
                reached = backward_slice(trees[i], names, lines[i])
                more |= {name for parameter, name in parameters.items() if parameter in reached}
        new = more - known
        known |= new
    return stored


def _stored_names(tree: ast.AST, into: set[str], lines: set[int]) -> set[str]:
    """The names in stores into these parameters, or into pointers computed from them."""
    pointers = set(into)
    for _, targets, value in assignments(tree):
        if _base(value) in pointers:
            pointers |= targets
    names: set[str] = set()
    for call in ast.walk(tree):
        stores = isinstance(call, ast.Call) and name_of(call) in WRITES and call.args
        if stores and _base(call.args[0]) in pointers:
            lines |= lines_of(call)
            names |= names_in(call)
    return names


def _base(address: ast.AST) -> str:
    """The name with which an address begins."""
    while isinstance(address, ast.BinOp):
        address = address.left
    return getattr(address, "id", "")


def _argument_names(kernel: ast.AST, call: ast.Call) -> dict[str, str]:
    """The launcher's name for each parameter of a kernel; none after a starred argument."""
    parameters = [argument.arg for argument in kernel.args.args]
    names: dict[str, str] = {}
    for parameter, value in zip(parameters, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        if isinstance(value, ast.Name):
            names[parameter] = value.id
    keywords = {k.arg: k.value.id for k in call.keywords if k.arg and isinstance(k.value, ast.Name)}
    return names | keywords


def _computed_in_return(section: Section, outputs: Sequence[str], bad: set[str]) -> set[int]:
    """The lines of a return that compute a wrong output themselves, beside one that is right."""
    function = ast.parse(section.text).body[0]
    if not isinstance(function, ast.FunctionDef) or any(launches(function)):
        return set()
    values = zip(outputs, _unpacked(_returned_values(function), len(outputs)), strict=False)
    return set().union(
        *(lines_of(v) for name, v in values if name in bad and isinstance(v, ast.BinOp | ast.Call))
    )


def _returned_names(launcher: ast.FunctionDef, count: int) -> Iterator[str]:
    """The names in the launcher's last return, as many as there are outputs, or none.

    One that is starred stands for as many as are missing.
    """
    return map(_tensor_name, _unpacked(_returned_values(launcher), count))


def returned_values(section: Section, count: int) -> list[ast.expr]:
    """The values of the outputs in the last return of a function, or none."""
    function = ast.parse(section.text).body[0]
    return _unpacked(_returned_values(function), count) if isinstance(function, ast.FunctionDef) else []


def _returned_values(function: ast.FunctionDef) -> list[ast.expr]:
    """The values in the last return."""
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return getattr(returns[-1], "elts", returns[-1:]) if returns else []


def _unpacked(values: list[ast.expr], count: int) -> list[ast.expr]:
    """As many values, or none: a starred one is repeated for each that it may hold."""
    starred = [value for value in values if isinstance(value, ast.Starred)]
    if len(starred) != 1:
        return values if len(values) == count and not starred else []
    i = values.index(starred[0])
    return [*values[:i], *[starred[0].value] * (count - len(values) + 1), *values[i + 1 :]]


def _tensor_name(value: ast.AST) -> str:
    """The first name: `dq` in `dq.sum(0).to(dtype)`."""
    while isinstance(value, ast.Call | ast.Attribute):
        value = value.func if isinstance(value, ast.Call) else value.value
    return getattr(value, "id", "")
