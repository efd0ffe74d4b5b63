"""The modules of the report and of traces: data, then what is shown, then its renderings; no circles."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "flashlearn"
ROOMS = ("report", "tracing")
RENDERERS = ("text", "html", "record")


def modules(room: str) -> list[str]:
    """The names of a package's modules."""
    return sorted(path.stem for path in (PACKAGE / room).glob("*.py"))


@functools.cache
def imports(room: str, module: str) -> frozenset[str]:
    """The modules of its package that a module imports, for annotations and inside functions included."""
    found: set[str] = set()
    package, known = f"flashlearn.{room}", modules(room)
    for node in ast.walk(ast.parse((PACKAGE / room / f"{module}.py").read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            inside = [f"{package}.{alias.name}" for alias in node.names]
            names = inside if node.module == package else [str(node.module)]
        own = [name.removeprefix(f"{package}.") for name in names if f"{name}.".startswith(f"{package}.")]
        found |= {name if name in known else "__init__" for name in own}
    return frozenset(found)


def below(room: str, module: str) -> set[str]:
    """All modules of its package that a module imports, directly or not."""
    found: set[str] = set()
    pending = [module]
    while pending:
        new = imports(room, pending.pop()) - found
        found |= new
        pending += new
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_imports_itself_through_others_even_for_annotations(room):
    assert not [module for module in modules(room) if module in below(room, module)]


@pytest.mark.parametrize("module", RENDERERS)
def test_a_rendering_takes_the_card_and_neither_a_result_nor_an_outcome(module):
    assert "card" in imports("report", module)
    assert not imports("report", module) & {"__init__", "report", "data"}
    tree = ast.parse((PACKAGE / "report" / f"{module}.py").read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"Report", "CheckResult", "Outcome", "OutputCheck", "Finding", "Exercise"}


def test_what_computes_a_card_knows_no_rendering():
    computing = set(modules("report")) - {*RENDERERS, "report", "__init__"}
    assert not [module for module in computing if below("report", module) & set(RENDERERS)]
