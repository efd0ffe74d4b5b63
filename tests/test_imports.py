"""Imports point one way: `exercise` imports nothing of the package, the command line may import everything.

What only one lesson needs is in its folder, what two lessons need is in `lessons/shared`, and the grader
imports no lesson.
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "flashlearn"

# Each may import those before it, and itself. "flashlearn" is what the package itself exports.
ORDER = (
    "later",
    "observation",
    "verdicts",
    "exercise",
    "outcome",
    "quantity",
    "machine",
    "processes",
    "interpreter",
    "compiler",
    "kernels",
    "running",
    "judging",
    "explaining",
    "report",
    "tracing",
    "checking",
    "lessons",
    "bench",
    "course",
    "classroom",
    "outdated_lesson",
    "flashlearn",
    "cli",
    "__main__",
)

COURSE = {"lessons", "bench", "course", "classroom", "cli", "flashlearn", "__main__"}
"""What may know the lessons; all else is the grader."""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def unit(path: Path) -> str:
    """The part of the package a file belongs to: "interpreter" for flashlearn/interpreter/memory.py."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "flashlearn" if first == "__init__" else first


def is_unit(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@functools.cache
def imported_names(path: Path) -> tuple[tuple[str, int], ...]:
    """What a file imports when it runs, in full, with the line; annotations do not count."""
    tree = ast.parse(path.read_text(), filename=str(path))
    for_annotations = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in for_annotations:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import; write flashlearn.… in full"
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return tuple(found)


def imported_units(path: Path) -> Iterator[tuple[str, int]]:
    """Units of the package that a file imports."""
    for name, line in imported_names(path):
        parts = name.split(".")
        if parts[0] == "flashlearn":
            yield (parts[1] if len(parts) > 1 and is_unit(parts[1]) else "flashlearn"), line


def imported_from_lessons(path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """What a file imports from the lessons, in parts: ("shared", "reference", "LOG2E")."""
    for name, line in imported_names(path):
        if name.startswith("flashlearn.lessons."):
            yield tuple(name.split(".")[2:]), line


def lesson(path: Path) -> str:
    """The folder of the lessons a file lies in: "lesson_07_dq" or "shared"; "" if in none."""
    parts = path.relative_to(PACKAGE).parts
    return parts[1] if parts[0] == "lessons" and len(parts) > 2 else ""


def test_every_part_of_the_package_has_its_place_in_the_order():
    unplaced = {unit(path) for path in modules()} - set(ORDER)
    assert not unplaced, f"add {sorted(unplaced)} to ORDER, after everything they import"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path):
    own = unit(path)
    if path.name == "notebook.py":
        return  # it becomes a learner's notebook, and imports what learners do
    for name, line in imported_units(path):
        if name != own:
            assert ORDER.index(name) < ORDER.index(own), (
                f"{path.name}:{line} imports {name}, which comes after {own} on the way of the data"
            )


def test_no_lesson_imports_another():
    for path in modules():
        own = lesson(path)
        for (folder, *_), line in imported_from_lessons(path):
            if own.startswith("lesson_") and folder.startswith("lesson_"):
                assert folder == own, f"{relative(path)}:{line} imports from {folder}: put it into shared"
            assert own != "shared" or folder == "shared", (
                f"{relative(path)}:{line}: what lessons share knows none"
            )


def shared_modules() -> dict[str, Path]:
    """The modules that lessons share, by their names below `shared`: "faulty_formulas.rows"."""
    folder = PACKAGE / "lessons" / "shared"
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): path
        for path in sorted(folder.rglob("*.py"))
        if path.name != "__init__.py"
    }


@functools.cache
def importers() -> dict[str, set[Path]]:
    """By shared module: the lessons' files that import it."""
    found: dict[str, set[Path]] = {name: set() for name in shared_modules()}
    for path in (p for p in modules() if lesson(p)):
        for what in {".".join(parts[1:]) for parts, _ in imported_from_lessons(path) if parts[0] == "shared"}:
            for name in found:
                if what == name or what.startswith(f"{name}."):
                    found[name].add(path)
    return found


def users(name: str) -> set[str]:
    """The lessons that import a shared module, directly or through another one."""
    names = {path: name for name, path in shared_modules().items()}
    found: set[str] = set()
    asked: set[str] = set()
    todo = {name}
    while todo:
        module = todo.pop()
        asked.add(module)
        for path in importers()[module]:
            if path in names:
                todo |= {names[path]} - asked
            else:
                found.add(lesson(path))
    return found


@pytest.mark.parametrize("name", shared_modules())
def test_what_is_shared_is_needed_by_two_lessons(name: str):
    who = users(name)
    assert len(who) >= 2, f"shared/{name} is needed by {sorted(who) or 'nobody'} alone: put it there"


def test_the_grader_knows_no_lesson():
    knowing = {
        relative(path)
        for path in modules()
        if unit(path) not in COURSE and any(name == "lessons" for name, _ in imported_units(path))
    }
    assert not knowing, "the grader serves every course: pass it what it needs"


def dotted(path: Path) -> str:
    """A file's name as a module: "flashlearn.report" for flashlearn/report/__init__.py."""
    parts = ("flashlearn", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def at_module_level(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is imported: none in functions, none for annotations."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from at_module_level(ast.Module(child.orelse, []))
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_module_level(child)


@functools.cache
def import_graph() -> dict[str, set[str]]:
    """Modules of the package, each with those it imports at its top.

    `from flashlearn.report import text` is an import of the submodule, and not of what its package exports.
    """
    paths = {dotted(path): path for path in modules()}
    graph = {}
    for name, path in paths.items():
        wanted = set()
        for node in at_module_level(ast.parse(path.read_text())):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            wanted |= {prefix + alias.name for alias in node.names}
        found = {one if one in paths else one.rpartition(".")[0] for one in wanted}
        graph[name] = found & paths.keys()
    return graph


def reached(start: str) -> set[str]:
    """All modules that importing `start` imports; itself only if it is part of a cycle."""
    graph, seen, todo = import_graph(), set(), [start]
    while todo:
        fresh = graph[todo.pop()] - seen
        seen |= fresh
        todo += fresh
    return seen


def test_no_modules_import_each_other():
    imported = {name: reached(name) for name in import_graph()}
    cycles = {
        tuple(sorted(other for other in imported[name] if name in imported[other]))
        for name in imported
        if name in imported[name]
    }
    assert not cycles, f"these modules import each other: {sorted(cycles)}"


def is_data(path: Path) -> bool:
    """Declarations, a lesson's text, and its tables are as long as they need to be."""
    return bool(lesson(path)) and path.name in ("notebook.py", "quantities.py")


def test_a_module_fits_in_the_head():
    lengths = {relative(path): path.read_text().count("\n") for path in modules() if not is_data(path)}
    for name, lines in lengths.items():
        if lines > 300:
            warnings.warn(f"{name} has {lines} lines; about 200 is the aim", stacklevel=1)
    too_long = {name: lines for name, lines in lengths.items() if lines > 400}
    assert not too_long, f"split these: {too_long}"
