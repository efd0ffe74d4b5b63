"""The sources of the course that a sandboxed child gets: what calling an answer needs, and no answers.

>>> sources("07")["flashlearn.kernels.flash_forward"]          # lesson 06 was handed out before
>>> sources("06").get("flashlearn.kernels.flash_forward")      # an answer: it is withheld

The kernels of earlier lessons are included whole, as later ones build on them. Of everything else single
functions and classes are cut out of their modules: those that call an exercise's answer, and those that a
stub tells a learner to use.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

from flashlearn.classroom.grading.statements import Statement, needed, statements
from flashlearn.exercise import Exercise
from flashlearn.lessons import all_exercises, lessons

PACKAGE = Path(__file__).resolve().parents[2]
KERNELS = "flashlearn.kernels"
LESSONS = "flashlearn.lessons"
REPEATING = frozenset({"10"})
"""Lessons whose answers repeat kernels of earlier lessons: they get none of these."""

PROVIDED = {
    "03": {f"{LESSONS}.lesson_03_attention_backward.one_walk": ("OneWalk", "Tiles")},
    "09": {
        f"{KERNELS}.attention": ("refuse_misfits",),
        f"{LESSONS}.lesson_09_into_pytorch.training": (
            *("LARGE", "SIZE", "SMALL", "Size", "Transformer", "batches", "characters", "initial"),
            *("one_thread", "optimizer", "plain", "sample", "sdpa", "text"),
        ),
    },
    "10": {f"{LESSONS}.lesson_10_clinic.instruments": ("Trial", "draw")},
    "11": {f"{KERNELS}.reach": ("refuse_far_rows",), f"{KERNELS}.repeatable_backward": ("one_tile",)},
    "12": {
        f"{KERNELS}.described": ("block_d", "complying", "described", "heads_together", "like"),
        f"{KERNELS}.shapes": ("Shape", "backward_shapes", "forward_shape"),
        f"{KERNELS}.tuned_backward": ("delta_and_lse",),
        f"{KERNELS}.tuned_forward": ("EDGE", "LOG2_E", "refuse_misfits"),
    },
    "13": {
        f"{KERNELS}.described": ("complying", "like"),
        f"{KERNELS}.gluon.parts": (
            *("accumulator", "complying_rows", "operand_a", "refuse_product", "refuse_unknown"),
            *("rows_of_heads", "tiles_of"),
        ),
        f"{KERNELS}.gluon.tma_add": ("async_add_shared_to_global",),
    },
    "14": {
        f"{KERNELS}.described": ("block_d", "complying", "described", "heads_together"),
        f"{KERNELS}.fp8_forward": ("SCALED_ROWS", "as_stored", "fp8_shape", "keys_last"),
        f"{KERNELS}.shapes": ("Shape",),
    },
    "15": {
        f"{KERNELS}.hooks": ("PLAIN", "Hooks", "causal_keys", "causal_mask", "causal_queries"),
        f"{KERNELS}.hooked_backward": ("hooked_backward",),
        f"{KERNELS}.hooked_forward": ("hooked_forward",),
    },
}
"""By lesson: what its stubs, or the text before them, tell a learner to use."""

ASSEMBLED = {
    "09": {
        "flashlearn.course.assembling": """
from flashlearn.kernels import flash_backward_dkv, flash_backward_dq, flash_forward


def assemble(*names):
    modules = (flash_forward, flash_backward_dq, flash_backward_dkv)
    return {name: vars(one)[name] for name in names for one in modules if name in vars(one)}
"""
    },
    "15": {
        "flashlearn.course.own_hooks": """
import sys


def take(functions):
    pass


def __getattr__(name):
    known = sys._getframe(1).f_globals  # of the cell that imports it, after the cells before
    if name.startswith("_") or name not in known:
        raise AttributeError(f"no cell before this one defines {name}", name=name)
    return known[name]
"""
    },
}
"""Texts that replace modules: parts of earlier lessons are the course's here, and hooks the learner's own."""


@functools.cache
def sources(lesson: str) -> dict[str, str]:
    """Sources of modules by name, for the answers of one lesson."""
    found = {name: _file(name).read_text() for name in earlier_kernels(lesson)}
    wanted: dict[str, set[str]] = {}
    for module, names in PROVIDED.get(lesson, {}).items():
        _want(module, names, wanted, found)
    for exercise in lessons().get(lesson, ()):
        if path := calling(exercise):
            module, _, name = path.partition(":")
            _want(module, [name], wanted, found)
    found |= ASSEMBLED.get(lesson, {})
    return found | {module: cut(_file(module).read_text(), names) for module, names in wanted.items()}


def solution_functions(exercise: Exercise) -> dict[str, set[str]]:
    """By module, the names of lessons and kernels that the course's own solution of an exercise needs."""
    module, _, name = exercise.solution.partition(":")
    wanted: dict[str, set[str]] = {}
    _want(module, [name], wanted, {})
    return {
        module: {bound for one in needed(statements(_file(module).read_text()), names) for bound in one.binds}
        for module, names in wanted.items()
    }


def calling(exercise: Exercise) -> str:
    """The function that calls an exercise's answer, as "module:name"; "" for a plain call."""
    call = exercise.judged.call
    return f"{call.__module__}:{call.__qualname__}" if call is not None else ""


def cut(text: str, names: Iterable[str]) -> str:
    """A module's source reduced to these names and what they need."""
    of, names = statements(text), set(names)
    known = {name for one in needed(of, names) for name in one.binds}
    names |= {name for one in of if _registers(one, known) for name in one.binds}
    chosen = needed(of, names)
    uses = names | {name for one in chosen for name in one.uses}
    lines, parts = text.splitlines(), []
    for one in of:
        if _is_future(one.node):
            parts.append(ast.unparse(one.node))
        elif one not in chosen:
            continue
        elif isinstance(one.node, ast.Import | ast.ImportFrom):
            parts.append(_narrowed(one.node, uses))
        else:
            parts.append("\n".join(lines[one.first - 1 : one.node.end_lineno]))
    return "\n\n\n".join(parts) + "\n"


def _want(module: str, names: Iterable[str], wanted: dict[str, set[str]], whole: dict[str, str]) -> None:
    """Add these names of a module, and what they import from other modules of lessons and kernels."""
    if module in whole or set(names) <= wanted.get(module, set()):
        return
    wanted.setdefault(module, set()).update(names)
    for statement in statements(cut(_file(module).read_text(), wanted[module])):
        node = statement.node
        if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith((LESSONS, KERNELS)):
            continue
        for alias in node.names:
            if _file(f"{node.module}.{alias.name}").is_file():
                members = _members(f"{node.module}.{alias.name}", alias.name, module, wanted[module])
                _want(f"{node.module}.{alias.name}", members, wanted, whole)
            else:
                _want(str(node.module), [alias.name], wanted, whole)


def _members(imported: str, name: str, module: str, names: set[str]) -> set[str]:
    """The members of an imported module that the names cut out of another one use."""
    tree = ast.parse(cut(_file(module).read_text(), names))
    return {
        one.attr
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == name
    }


def earlier_kernels(lesson: str) -> list[str]:
    """The modules of kernels whose exercises all belong to earlier lessons."""
    if lesson in REPEATING:
        return []
    first: dict[str, str] = {}
    for exercise in all_exercises().values():
        module = exercise.solution.partition(":")[0]
        if module.startswith(KERNELS):
            first[module] = max(first.get(module, ""), exercise.lesson)
    return [module for module, latest in first.items() if latest < lesson]


def _file(module: str) -> Path:
    return PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _registers(statement: Statement, known: set[str]) -> bool:
    """Whether a statement registers known records for the encoding."""
    return (
        isinstance(statement.node, ast.Expr)
        and ast.unparse(statement.node).startswith("encoding.register(")
        and statement.uses - statement.binds <= known
    )


def _narrowed(node: ast.Import | ast.ImportFrom, uses: set[str]) -> str:
    """The import reduced to what is used."""
    names = [one for one in node.names if (one.asname or one.name).partition(".")[0] in uses]
    copy = type(node)(**{**dict(ast.iter_fields(node)), "names": names or node.names})
    return ast.unparse(copy)
