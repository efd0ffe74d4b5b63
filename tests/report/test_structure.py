"""The modules of the report: results, then the card, then its renderings, and no circle among them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPORT = Path(__file__).parents[2] / "flashlearn" / "report"
PACKAGE = "flashlearn.report"
MODULES = {path.stem for path in REPORT.glob("*.py")}
RENDERERS = ("text", "html", "record")


def imports(module: str) -> set[str]:
    """The report's modules that a module imports, annotations and imports inside functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((REPORT / f"{module}.py").read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
            if node.module == PACKAGE:
                names = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        else:
            continue
        inside = [name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(PACKAGE)]
        found |= {name if name in MODULES else "__init__" for name in inside}
    return found


def below(module: str) -> set[str]:
    """All modules that a module imports, directly or not."""
    found: set[str] = set()
    pending = [module]
    while pending:
        new = imports(pending.pop()) - found
        found |= new
        pending += new
    return found


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_module_of_the_report_imports_itself_through_others_even_for_annotations(module):
    assert module not in below(module)


@pytest.mark.parametrize("module", RENDERERS)
def test_a_rendering_takes_the_card_and_neither_a_result_nor_an_outcome(module):
    assert "card" in imports(module)
    assert not imports(module) & {"__init__", "report", "data"}
    tree = ast.parse((REPORT / f"{module}.py").read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"Report", "CheckResult", "Outcome", "OutputCheck", "Finding", "Exercise"}


@pytest.mark.parametrize("module", sorted(MODULES - {*RENDERERS, "report", "__init__"}))
def test_what_computes_a_card_knows_no_rendering(module):
    assert not below(module) & set(RENDERERS)
