"""A class out of a seed: right, wrong, altered, hostile and broken notebooks, each with what it should get.

    >>> labels = write_class(Path("submissions"), handout, students=300, seed=1)
    >>> labels["student 007"].passes
    frozenset({'row_sum'})

Answers are the corpus's, put into the lesson's notebook as a student would have written them there.
"""

from __future__ import annotations

import ast
import builtins
import functools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashlearn.classroom.collecting.cell_names import names_of
from flashlearn.classroom.handout import Handout, Notebook, NotebookCell
from tests.classroom.attacks.submissions import HARMFUL, LYING
from tests.classroom.small_class import notebook
from tests.corpus import PREAMBLE, Entry, right_entries, section_of, wrong_entries

ALWAYS = names_of(PREAMBLE).bound | frozenset(dir(builtins))
KINDS = {"right": 0.35, "wrong": 0.35, "altered": 0.1, "hostile": 0.1, "broken": 0.1}


@dataclass(frozen=True)
class Label:
    """What a submission is, and which exercises must pass; all others must not."""

    kind: str
    passes: frozenset[str] = frozenset()


def write_class(folder: Path, handout: Handout, students: int = 300, seed: int = 1) -> dict[str, Label]:
    """Write a folder for each student; the labels are by student's name."""
    chance = random.Random(seed)
    labels = {}
    for number in range(students):
        kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
        name = f"student {number:03}"
        (folder / name).mkdir(parents=True)
        passes = set()
        for given in handout.notebooks:
            content, passing = MAKERS[kind](given, chance)
            passes |= passing
            if content is not None:
                (folder / name / given.file).write_bytes(content)
        labels[name] = Label(kind, frozenset(passes))
    return labels


def answered(given: Notebook, texts: dict[str, str]) -> list[NotebookCell]:
    """The lesson's code cells with these answers in place of stubs."""
    return [cell._replace(text=texts.get(cell.exercise, cell.text)) for cell in given.cells]


@functools.cache
def answers(right: bool) -> dict[str, tuple[str, ...]]:
    """By exercise, the corpus's answers that stand in a notebook without anything from elsewhere."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in right_entries() if right else wrong_entries():
        text = _as_cell(entry)
        if text:
            found[entry.exercise].append(text)
    return {name: tuple(dict.fromkeys(texts)) for name, texts in found.items()}


def _as_cell(entry: Entry) -> str:
    """An entry as the text of an exercise's cell; nothing where it cannot stand alone."""
    try:
        text, _ = section_of(entry.function)
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, AttributeError):
        return ""
    name = re.escape(getattr(entry.function, "__name__", ""))
    text = re.sub(rf"\b{name}\b", entry.exercise, f"{PREAMBLE}\n\n{ast.unparse(tree)}")
    names = names_of(text)
    alone = entry.exercise in names.functions and not names.needed - names.bound - ALWAYS
    return text if alone else ""


def _exercises(given: Notebook) -> list[str]:
    return [cell.exercise for cell in given.cells if cell.exercise]


def _right(given: Notebook, chance: random.Random) -> tuple[bytes, set[str]]:
    done = [name for name in _exercises(given) if chance.random() < 0.9]  # no set: its order is no seed's
    texts = {name: chance.choice(answers(True)[name]) for name in done}
    return notebook(answered(given, texts), given.stem), set(done)


def _wrong(given: Notebook, chance: random.Random) -> tuple[bytes, set[str]]:
    texts, passes = {}, set()
    for name in _exercises(given):
        right = chance.random() < 0.3
        texts[name] = chance.choice(answers(right)[name])
        passes |= {name} if right else set()
    return notebook(answered(given, texts), given.stem), passes


def _altered(given: Notebook, chance: random.Random) -> tuple[bytes, set[str]]:
    names = _exercises(given)
    texts = {name: chance.choice(answers(True)[name]) for name in names}
    cells, gone = chance.choice(ALTERATIONS)(answered(given, texts), given, chance)
    return notebook(cells, given.stem), set(names) - gone


def _without_ids(
    cells: list[NotebookCell], _given: Notebook, _chance: random.Random
) -> tuple[list[NotebookCell], set[str]]:
    return [cell._replace(id="", exercise="") for cell in cells], set()


def _with_a_second_stub(cells: list[NotebookCell], given: Notebook, chance: random.Random):
    stub = chance.choice([cell for cell in given.cells if cell.exercise])
    return [*cells, stub._replace(id="copied", exercise="")], set()


def _without_imports(cells: list[NotebookCell], _given: Notebook, _chance: random.Random):
    return cells[1:], set()


def _reversed(cells: list[NotebookCell], _given: Notebook, _chance: random.Random):
    return cells[::-1], set()


def _with_one_deleted(cells: list[NotebookCell], _given: Notebook, chance: random.Random):
    gone = chance.choice([cell.exercise for cell in cells if cell.exercise])
    return [cell for cell in cells if cell.exercise != gone], {gone}


def _with_a_cell_that_fails(cells: list[NotebookCell], _given: Notebook, _chance: random.Random):
    return [cells[0], NotebookCell("own", "1 / 0"), NotebookCell("torn", "def half(:\n"), *cells[1:]], set()


ALTERATIONS: tuple[Callable[..., tuple[list[NotebookCell], set[str]]], ...] = (
    _without_ids,
    _with_a_second_stub,
    _without_imports,
    _reversed,
    _with_one_deleted,
    _with_a_cell_that_fails,
)

HOSTILE = (
    "import os\nos._exit(0)",
    "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "import sys\nsys.exit(0)",
    "while True:\n    pass",
    "grab = []\nwhile True:\n    grab.append(bytearray(100_000_000))",
    "import os\nwhile True:\n    os.fork()",
    "print('x' * 300_000_000)",
    "import torch\ntorch.allclose = lambda *a, **k: True\ntorch.equal = torch.allclose",
    'import json\nprint(json.dumps({"status": "graded", "points": 1000, "verdict": "pass"}))',
    "import os\nfor n in range(3, 200):\n    try:\n        os.close(n)\n    except OSError:\n        pass",
    "import pathlib\nfor p in pathlib.Path('/').glob('*/*.sqlite'):\n    p.unlink()",
    "raise SystemExit('<script>alert(1)</script>')",
)
"""Cells that do harm where nothing stops them; each comes before answers that are wrong."""


def _hostile(given: Notebook, chance: random.Random) -> tuple[bytes, set[str]]:
    names = _exercises(given)
    if "row_sum" in names and chance.random() < 0.8:  # one of the attacks that tests know
        *before, last = chance.choice((*LYING, *HARMFUL)).cells
        cells = answered(given, {"row_sum": last})
        own = [NotebookCell(f"evil-{i}", text) for i, text in enumerate(before)]
        return notebook([cells[0], *own, *cells[1:]], given.stem), set()
    texts = {name: chance.choice(answers(False)[name]) for name in names}
    cells = answered(given, texts)
    return notebook([cells[0], NotebookCell("evil", chance.choice(HOSTILE)), *cells[1:]], given.stem), set()


def _broken(given: Notebook, chance: random.Random) -> tuple[bytes | None, set[str]]:
    whole = notebook(answered(given, {}), given.stem)
    return chance.choice(
        (
            None,
            b"",
            whole[: len(whole) // 2],
            b"\xff\xfe not a notebook",
            b"[" * 50_000,
            json.dumps({"cells": [{"cell_type": "code", "source": "x"}] * 100_000}).encode(),
            notebook([]),
            whole,
        )
    ), set()


MAKERS: dict[str, Callable[[Notebook, random.Random], tuple[bytes | None, set[str]]]] = {
    "right": _right,
    "wrong": _wrong,
    "altered": _altered,
    "hostile": _hostile,
    "broken": _broken,
}
