"""Names and sentences are in standard English: a short list of words that do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "flashlearn"
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", *sorted(ROOT.glob("docs/*.md")))


@dataclass(frozen=True)
class Word:
    """A word to avoid in sentences: a pattern, and what to write instead."""

    pattern: str
    instead: str


WORDS = (
    Word(r"\bbehind\b", "after (of time and order); behind is for places"),
    Word(r"\bmend(s|ed|ing)?\b", "fix"),
    Word(r"\ba?stray(s|ed|ing)?\b", "wild (an access), vary (a measurement)"),
    Word(r"\bbelongs? into\b", "belongs in"),
    Word(r"\bso many (?!that\b)", "a number, or: as many, this many"),
    Word(r"\bwhoever\b", "name the reader: a learner, an author"),
    Word(r"\b(nobody|somebody|anybody)(?!-)", "name the process, person or thing; or: no one, someone"),
    Word(r"\bturned round\b", "negated, swapped"),
    Word(r"\bborn\b", "created, first computed"),
    Word(r"\bcom(e|es|ing) to (its|an|their) end\b", "completes, ends"),
    Word(r"\bgoes? round\b", "wraps around"),
    Word(r"\bmisspelt\b", "misspelled, as elsewhere in the package"),
    Word(r"\bis told of\b", "is told how many, is announced"),
    Word(r"\ball the same\b", "still, nevertheless"),
    Word(r"\bstands? (in|at|on|where|before|there|under|beside)\b(?! for\b)", "is, is in"),
)
"""Searched for in strings that users read, and in the pages of the documentation."""

NAMES = {
    "said": "message, sentence, text",
    "told": "a noun for the sentence or the finding",
    "begun": "started, or a noun for the time",
    "born": "origin",
    "mend": "fix",
    "mended": "fixed",
    "mends": "fixes",
    "stray": "outside, wild",
    "astray": "outside, wild",
    "nobody": "unwritten, none",
    "somebody": "owner, observer",
    "whoever": "owner, caller",
    "behind": "after, remaining",
    "house": "worker server",
    "keeper": "sandbox server",
    "nursery": "fork server",
    "circumstances": "run mode",
    "pride": "highlight",
}
"""Parts of identifiers (between underscores, in lower case), and what to write instead."""

ALLOWED = (
    "turned round",  # labels of declared mistakes, which the corpus names
)
"""Strings that end in one of these are labels: the corpus and recorded verdicts have them."""


def sources() -> list[Path]:
    """The package's modules, but for the lessons' notebooks, whose prose is another matter."""
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "notebook.py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(module: ast.Module) -> set[int]:
    """The ids of strings that stand alone: docstrings, and those after a constant."""
    return {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that may be shown to users: sentences, no docstrings."""
    alone = docstrings(tree(path))
    for node in ast.walk(tree(path)):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in alone else None
        if isinstance(text, str) and " " in text.strip():
            yield node.lineno, text


def names(path: Path) -> Iterator[tuple[int, str]]:
    """The names that a module gives: its own, classes, functions, parameters, variables."""
    yield 1, path.stem
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def parts(name: str) -> set[str]:
    """The words of a name: {"first", "fault"} for FIRST_FAULT and FirstFault."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def wrong_words(text: str) -> list[Word]:
    if len(text.split()) <= 5 and text.endswith(ALLOWED):
        return []
    return [word for word in WORDS if re.search(word.pattern, text, re.IGNORECASE)]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", sources(), ids=relative)
def test_names_are_the_standard_terms(path: Path):
    found = {
        f"{relative(path)}:{line}: {name}: write {NAMES[part]}"
        for line, name in names(path)
        for part in parts(name) & NAMES.keys()
    }
    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize("path", sources(), ids=relative)
def test_sentences_for_users_are_in_standard_english(path: Path):
    found = [
        f"{relative(path)}:{line}: {text!r:.100}: {word.instead}"
        for line, text in strings(path)
        for word in wrong_words(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_the_documentation_is_in_standard_english(path: Path):
    found = [
        f"{relative(path)}:{number}: {line.strip():.100}: {word.instead}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in wrong_words(line)
    ]
    assert not found, "\n".join(found)
