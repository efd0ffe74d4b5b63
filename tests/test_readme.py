"""The README names what exists: commands, files, lessons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = ("README.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_command_named_in_the_documents_exists(document: str):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    command = r"^(?:\w+=\S+ )?make (?:-k )?([a-z]+)\b"
    named = set(re.findall(command, "\n".join(code_of(ROOT / document)), flags=re.M))
    assert named and named <= targets, f"{document} names make {named - targets}, which the Makefile lacks"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_flashlearn_command_named_in_the_documents_exists(document: str):
    typer_main = pytest.importorskip("typer.main")
    cli = pytest.importorskip("flashlearn.cli")
    commands = set(typer_main.get_command(cli.app).commands)
    named = set(re.findall(r"(?:^|\s|`)flashlearn ([a-z]+)\b", "\n".join(code_of(ROOT / document))))
    assert named <= commands, f"{document} names flashlearn {named - commands}"


def test_the_tree_names_every_module():
    tree = README[README.index("<!-- tree -->") :]
    modules = [path for path in (ROOT / "flashlearn").rglob("*.py") if path.name != "__init__.py"]
    missing = [str(path.relative_to(ROOT)) for path in modules if f" {path.name} " not in tree]
    assert not missing, f"README.md's tree lacks {missing}"


def test_every_lesson_that_exists_is_linked():
    lessons = [path.name for path in (ROOT / "solutions").glob("*.ipynb")]
    missing = [name for name in lessons if f"solutions/{name}" not in README]
    assert not missing, f"README.md's list of lessons does not link {missing}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_to_files_lead_somewhere(document: str):
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / document).read_text())
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing, f"{document} links to {missing}"


def code_of(path: Path) -> list[str]:
    """What stands in code: fenced blocks and `inline`."""
    text = path.read_text()
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.M | re.S)
    return fenced + re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
