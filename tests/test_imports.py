"""Imports point one way, down the way of the data: `exercise` knows nothing, the command line knows all."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "flashlearn"

# Each may import those before it, and itself. "flashlearn" is what the package itself exports.
ORDER = (
    "exercise",
    "outcome",
    "course",
    "example",
    "device",
    "training",
    "reference",
    "kernels",
    "exercises",
    "pictures",
    "observe",
    "clinic",
    "progress",
    "environment",
    "portable",
    "tf32",
    "tolerance",
    "comparing",
    "slips",
    "failures",
    "warming",
    "guards",
    "compiled",
    "elsewhere",
    "whose",
    "run",
    "divergence",
    "symbolic",
    "rules",
    "diagnose",
    "timing",
    "hints",
    "report",
    "tracing",
    "checking",
    "flashlearn",
    "authoring",
    "assembling",
    "bench",
    "cli",
    "__main__",
)

# Against the order, inside a function, and why that is right.
EXCEPTIONS = {
    ("flashlearn", "cli"),  # flashlearn.status() in a cell is the command line's table
    ("device", "environment"),  # the long report on this machine, asked for through the short module
    ("exercises", "observe"),  # a review runs the learner's kernel once more, and looks at its bytes,
    ("exercises", "portable"),  # or at what the compiler makes of it,
    ("exercises", "checking"),  # and has to ask which function of theirs has passed
}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def unit(path: Path) -> str:
    """The part of the package a file belongs to: "observe" for flashlearn/observe/memory.py."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "flashlearn" if first == "__init__" else first


def is_unit(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()


def imported_units(path: Path) -> Iterator[tuple[str, int]]:
    """Units of the package that a file imports when it runs, with the line; annotations do not count."""
    tree = ast.parse(path.read_text(), filename=str(path))
    for_annotations = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_annotations:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import; write flashlearn.… in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "flashlearn":
                yield (parts[1] if len(parts) > 1 and is_unit(parts[1]) else "flashlearn"), node.lineno


def test_every_part_of_the_package_has_its_place_in_the_order():
    unplaced = {unit(path) for path in modules()} - set(ORDER)
    assert not unplaced, f"add {sorted(unplaced)} to ORDER, after everything they import"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path):
    own = unit(path)
    for name, line in imported_units(path):
        if name != own and (own, name) not in EXCEPTIONS:
            assert ORDER.index(name) < ORDER.index(own), (
                f"{path.name}:{line} imports {name}, which comes after {own} on the way of the data"
            )


def test_a_module_fits_in_the_head():
    lengths = {
        str(path.relative_to(PACKAGE)): path.read_text().count("\n")
        for path in modules()
        if path.parent.name != "exercises"  # declarations: data, as long as it needs to be
    }
    for name, lines in lengths.items():
        if lines > 300:
            warnings.warn(f"{name} has {lines} lines; about 200 is the aim", stacklevel=1)
    too_long = {name: lines for name, lines in lengths.items() if lines > 400}
    assert not too_long, f"split these: {too_long}"
