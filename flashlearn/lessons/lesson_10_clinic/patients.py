"""The clinic's patients, made from correct kernels: one source, in which the STUB lines are the disease.

    >>> dq, dk, dv = sick("clinic_1")(q, k, v, o, do, lse, alpha)           # as it was admitted
    >>> worse = edited("clinic_1", ("dk, mask", "alpha * alpha * dk, mask"))    # a wrong cure
    >>> changed_lines(source_of(clinic_1), "clinic_1")                      # how far a cure went
    1

A cure is compared by what Python makes of it: comments, blank lines and the layout do not count.
"""

from __future__ import annotations

import ast
import difflib
import functools
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.exercise import Earlier
from flashlearn.lessons.shared.variants import apply_edits, load
from flashlearn.running.answer import Answer

MOST_CHANGED = 4
"""The number of lines that a cure may change; the longest that is needed changes two."""

DEPENDS = {
    "s": ("q", "k", "alpha"),
    "p": ("s", "lse"),
    "delta": ("o", "do"),
    "dp": ("do", "v"),
    "ds": ("p", "dp", "delta"),
    "dv": ("p", "do"),
    "dq": ("ds", "k", "alpha"),
    "dk": ("ds", "q", "alpha"),
}
"""The backward pass, line by line: what each line makes, and of what. What no line makes is an input."""

_NAMES = {"torch": torch, "triton": triton, "tl": tl, "Tensor": Tensor}
_HERE = Path(__file__).parent
_FILES = ("forward_patients.py", "backward_patients.py")


@functools.cache
def sick_source(name: str) -> str:
    """Kernel and launcher of patient `name` as they were admitted, without the line that says TODO."""
    for file in _FILES:
        text = (_HERE / file).read_text(encoding="utf-8")
        if f"def {name}(" in text:
            parts = [_stubbed(_definition(text, part)) for part in (f"{name}_kernel", name)]
            return "\n\n\n".join(parts) + "\n"
    raise LookupError(f"there is no patient {name!r}")


@functools.cache
def sick(name: str) -> Callable:
    """The launcher of the sick kernel."""
    return load_patient(sick_source(name), name, "as admitted")


def edited(name: str, *edits: tuple[str, str]) -> Callable:
    """The patient's launcher with other lines: each edit replaces a text that occurs once."""
    return load_patient(apply_edits(sick_source(name), edits, name), name, f"variant {abs(hash(edits))}")


def changed_lines(text: str, name: str) -> int:
    """Lines by which an answer differs from the sick patient: taken out or put in, whichever is more.

    `text` holds the launcher, and every function and kernel of the same file that it uses. Raises SyntaxError
    where it is no Python.
    """
    before, after = _lines(sick_source(name)), _lines(text)
    removed = added = 0
    for _, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        same = before[a:b] == after[c:d]
        removed += 0 if same else b - a
        added += 0 if same else d - c
    return max(removed, added)


def lines_changed_by(answer: Answer, name: str) -> int | None:
    """The same for an answer; None where its source cannot be read."""
    text = answer.source()
    try:
        return changed_lines(text, name) if text is not None else None
    except SyntaxError:
        return None


def too_much_changed(name: str) -> Callable[[Answer, Earlier], str]:
    """An exercise's review: a complaint if an answer is more than a cure of patient `name`."""

    def review(answer: Answer, earlier: Earlier) -> str:
        count = lines_changed_by(answer, name)
        if count is None:
            return (
                "The outputs are right, but the source of this function cannot be read, so it cannot be "
                f"compared with the patient's. Define {name} and its kernel in a separate cell."
            )
        if count <= MOST_CHANGED:
            return ""
        return (
            f"The outputs are right, but {count} lines differ from the patient's. Fix the faulty line and "
            f"leave the rest as it is: at most {MOST_CHANGED} lines may change, and one or two are enough."
        )

    return review


def as_admitted(name: str) -> Callable[[Answer], bool]:
    """Whether an answer is patient `name` with nothing changed yet: its sick line is still to be found."""

    def unsolved(answer: Answer) -> bool:
        return lines_changed_by(answer, name) == 0

    return unsolved


def _lines(source: str) -> list[str]:
    """The code without comments, docstrings, annotations of signatures and layout, line by line."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if ast.get_docstring(node) is not None and len(node.body) > 1:
                del node.body[0]
    return ast.unparse(tree).splitlines()


def _definition(text: str, name: str) -> str:
    """A top-level function's text, from its decorators to the next definition."""
    body = ast.parse(text).body
    index = next(i for i, node in enumerate(body) if getattr(node, "name", "") == name)
    starts = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in body]
    end = starts[index + 1] - 1 if index + 1 < len(body) else None
    return "\n".join(text.splitlines()[starts[index] - 1 : end]).rstrip()


def _stubbed(text: str) -> str:
    """Solution regions replaced by their STUB lines, but for the one that only says TODO."""
    kept, indent = [], None
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("### BEGIN SOLUTION"):
            indent = line[: len(line) - len(line.lstrip())]
        elif words.startswith("### END SOLUTION"):
            indent = None
        elif indent is None:
            kept.append(line)
        elif words.startswith("# STUB: ") and "TODO" not in words:
            kept.append(indent + words.removeprefix("# STUB: "))
    return "\n".join(kept)


def load_patient(source: str, name: str, title: str) -> Callable:
    """The launcher that a patient's source defines."""
    return load(source, name, f"{name}, {title}", _NAMES)
