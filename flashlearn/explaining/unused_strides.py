"""Strides that a kernel takes and does not use, where only inputs that are views are wrong."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flashlearn.explaining.edits.edit import is_kernel, names_in
from flashlearn.explaining.findings.unused_strides import UnusedParameters
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Answer


def find_unused_strides(outcomes: Sequence[Outcome], answer: Answer) -> Finding | None:
    """The parameters that one kernel does not use, if every failing case has a strided input.

    None if all kernels use all of theirs, if several do not, and where a case fails with contiguous inputs.
    """
    failing = [outcome for outcome in outcomes if outcome.status is not Status.PASS]
    if not failing or not all(map(strided, failing)) or all(map(strided, outcomes)):
        return None
    unused = [
        (function.name, names)
        for section in answer.sections()
        for function in ast.walk(ast.parse(section.text))
        if isinstance(function, ast.FunctionDef) and is_kernel(function) and (names := _unused(function))
    ]
    if len(unused) != 1:
        return None
    return Finding(UnusedParameters(*unused[0]), fits=len(failing), of=len(failing))


def strided(outcome: Outcome) -> bool:
    """Whether an input of the case is a view with strides of its own."""
    return "strided" in outcome.case.tags or outcome.case.layout != "contiguous"


def _unused(function: ast.FunctionDef) -> tuple[str, ...]:
    """The parameters that are no constants and occur in no line."""
    used = set().union(*(names_in(statement) for statement in function.body))
    given = (one for one in function.args.args if one.annotation is None)
    return tuple(one.arg for one in given if one.arg not in used)
