"""The structure check: which cells are answers, what is missing, what can be fixed. Runs nothing.

    >>> submission = examine("Ann Lee", "ann/02_softmax.ipynb", content, notebook, assignment)
    >>> submission.notes
    ('row_sum is answered in 2 cells. The last one was graded.',)

Exercise cells are found by their ids or, if an editor has replaced these, by the function that they define.
Check cells are left out. The lesson's own unchanged cells are run only if an answer needs a name of theirs;
what students wrote themselves is always run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from flashlearn.classroom.collecting.cell_names import names_of, plain_functions
from flashlearn.classroom.handout import Notebook, NotebookCell, read_cells
from flashlearn.classroom.records import Assignment, CodeCell, Submission

_CALLS = re.compile(r"^\s*(?:\w+\s*=\s*)?flashlearn\.(?:check|hint|solution|status|recall|reset)\(.*\)\s*$")
_STUB = "TODO {name}:"


def examine(
    student: str, file: str, content: bytes, given: Notebook, asked: Assignment, notes: Sequence[str] = ()
) -> Submission:
    """One notebook as a submission to its part of the assignment. Never raises, whatever it contains."""
    try:
        read = read_cells(content)
    except ValueError as error:
        return broken(student, named_file(str(error), file), (file,), notes)
    cells = [NotebookCell(*cell) for cell in read.code]
    found, unmarked = list(notes), []
    answers = {one.name: _answer(one.name, cells, given, found, unmarked) for one in asked.exercises}
    found += _about_prose([name for name, at in answers.items() if at is None], read.prose)
    found += _about_lost_ids(unmarked)
    if all(at is None for at in answers.values()):
        return broken(
            student, f"No cell of {given.file} that answers an exercise was found in it.", (file,), found
        )
    _check_order(answers, found)
    sources = _sources(cells, given, answers, found)
    content_key = _key([CodeCell(text, mark) for _, text, mark in read.code])
    return Submission(student, (file,), sources, _key(sources), tuple(found), content=content_key)


def named_file(sentence: str, file: str) -> str:
    """A sentence that begins with "The file" or "The notebook", with the file's name."""
    name = file.rpartition("/")[2]
    return sentence.replace("The file", name, 1) if "The file" in sentence else f"{name}: {sentence}"


def _about_prose(missing: Sequence[str], prose: Sequence[str]) -> list[str]:
    """Remarks on answers that are in cells which are not code."""
    return [
        f"Your answer to {name} is in a cell that is not a code cell, so it was not run: make it one."
        for name in missing
        if any(re.search(rf"^\s*def {re.escape(name)}\(", text, re.MULTILINE) for text in prose)
    ]


def _about_lost_ids(names: Sequence[str]) -> list[str]:
    """One remark on all cells without an id, as an editor that replaces ids leaves them."""
    if not names:
        return []
    which = f"The cell of {names[0]} has lost its id. It was found by the function's name."
    several = (
        f"The cells of {len(names)} exercises have lost their ids. They were found by the functions' names."
    )
    return [which if len(names) == 1 else several]


def broken(student: str, why: str, files: Sequence[str] = (), notes: Sequence[str] = ()) -> Submission:
    """A submission of which nothing can be graded."""
    return Submission(student, tuple(files), (), _key((), why), tuple(notes), why)


def is_answered(content: bytes, given: Notebook, asked: Assignment) -> bool:
    """Whether any exercise has an answer in a notebook that is more than its stub."""
    try:
        code = read_cells(content).code
    except ValueError:
        return False
    stubs = {cell.exercise: cell.text for cell in given.cells if cell.exercise}
    return any(
        not _is_stub(text, one.name, stubs.get(one.name, ""))
        for one in asked.exercises
        for _, text, mark in code
        if mark == one.name or one.name in names_of(text).functions
    )


def belongs_to(content: bytes, file: str, notebooks: Sequence[Notebook]) -> Notebook | None:
    """The handed-out notebook that a file is: by its metadata, by its exercises, or by its name."""
    try:
        read = read_cells(content)
    except ValueError:
        return _by_name(file, notebooks)
    for notebook in notebooks:
        if read.lesson == notebook.stem:
            return notebook
    here = {mark for _, _, mark in read.code} | {
        f for _, text, _ in read.code for f in names_of(text).functions
    }
    counts = {i: len(here & {cell.exercise for cell in n.cells} - {""}) for i, n in enumerate(notebooks)}
    best = max(counts, key=counts.__getitem__, default=None)
    return notebooks[best] if best is not None and counts[best] else _by_name(file, notebooks)


def _by_name(file: str, notebooks: Sequence[Notebook]) -> Notebook | None:
    return next((notebook for notebook in notebooks if notebook.stem in file.rpartition("/")[2]), None)


def _answer(
    name: str, cells: list[NotebookCell], given: Notebook, notes: list[str], unmarked: list[str]
) -> int | None:
    """The index of the cell that answers an exercise; remarks on it are added to `notes`.

    `unmarked` collects the exercises whose cells have no id.
    """
    marked = [i for i, cell in enumerate(cells) if cell.exercise == name]
    defining = [i for i, cell in enumerate(cells) if _defines(cell, name)]
    if not defining:
        return _renamed(name, marked, cells, notes)
    stub = next((cell.text for cell in given.cells if cell.exercise == name), "")
    edited = [i for i in defining if not _is_stub(cells[i].text, name, stub)] or defining
    at = edited[-1]
    if len(edited) > 1:
        notes.append(f"{name} is answered in {len(edited)} cells. The last one was graded.")
    elif len(defining) > 1 and at != defining[-1]:
        notes.append(f"{name} has a second cell with only the stub, which was left out.")
    if marked and at not in marked:
        notes.append(f"Your answer to {name} is not in its own cell. It was found by the function's name.")
    elif not marked:
        unmarked.append(name)
    for i in defining[defining.index(at) + 1 :]:  # stubs after the answer would replace it
        cells[i] = cells[i]._replace(text="")
    return at


def _defines(cell: NotebookCell, name: str) -> bool:
    """Whether a cell defines a function of the exercise's name; its own cell may also assign the name."""
    names = names_of(cell.text)
    return name in (names.bound if cell.exercise == name else names.functions)


def _renamed(name: str, marked: list[int], cells: list[NotebookCell], notes: list[str]) -> int | None:
    """The exercise's own cell, if it has exactly one plain function under another name."""
    for i in reversed(marked):
        plain = plain_functions(cells[i].text)
        if len(plain) == 1:
            notes.append(
                f"The function of {name} is called {plain[0]} in your notebook. It was graded as {name}."
            )
            cells[i] = cells[i]._replace(text=f"{cells[i].text.rstrip()}\n\n\n{name} = {plain[0]}")
            return i
    if marked:
        notes.append(f"The cell of {name} defines no function of that name, so there is nothing to grade.")
    else:
        notes.append(f"No cell answers {name}: it was deleted, or its function was renamed.")
    return None


def _check_order(answers: dict[str, int | None], notes: list[str]) -> None:
    places = [at for at in answers.values() if at is not None]
    if places != sorted(places):
        notes.append(
            "The exercises are in a different order than in the handout. They were run in your order."
        )


def _sources(
    cells: list[NotebookCell], given: Notebook, answers: dict[str, int | None], notes: list[str]
) -> tuple[CodeCell, ...]:
    """The cells to run, in order: the imports, the lesson's cells that are needed, all of the student's."""
    answered = {at: name for name, at in answers.items() if at is not None}
    known = {cell.text.strip() for cell in given.cells if not cell.exercise}
    setup, lost = given.cells[0], given.cells[1:]
    rest = [
        (i, cell)
        for i, cell in enumerate(cells)
        if cell.text.strip() and not _only_checks(cell.text) and cell.text.strip() != setup.text.strip()
    ]
    own = {i for i, cell in rest if i in answered or cell.text.strip() not in known}
    here = {cell.text.strip() for _, cell in rest}
    deleted = [c for c in lost if not c.exercise and c.text.strip() not in here and not _only_checks(c.text)]
    texts = [cell.text for i, cell in rest if i in own]
    wanted = _wanted(texts, [cell.text for i, cell in rest if i not in own])
    written = frozenset().union(*(names_of(text).bound for text in texts))
    brought = _wanted(texts, [cell.text for cell in deleted], written | _bound(wanted))
    if not any(cell.text.strip() == setup.text.strip() for cell in cells):
        notes.append(
            "The first cell, with the imports, is missing or changed. The lesson's own was run before yours."
        )
    front = [CodeCell(setup.text), *(CodeCell(c.text) for c in deleted if c.text in brought)]
    kept = [CodeCell(c.text, answered.get(i, "")) for i, c in rest if i in own or c.text in wanted]
    return tuple(front + kept)


def _wanted(texts: list[str], offered: list[str], there: frozenset[str] = frozenset()) -> set[str]:
    """The lesson's own cells that bind a name which `texts`, or another such cell, needs."""
    needed = frozenset().union(*(names_of(text).needed for text in texts)) - there
    found: set[str] = set()
    while True:
        fresh = {text for text in offered if text not in found and names_of(text).bound & needed}
        if not fresh:
            return found
        found |= fresh
        needed |= frozenset().union(*(names_of(text).needed for text in fresh)) - there


def _bound(texts: set[str]) -> frozenset[str]:
    return frozenset().union(*(names_of(text).bound for text in texts))


def _only_checks(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return all(_CALLS.match(line) for line in lines)


def _is_stub(text: str, name: str, stub: str) -> bool:
    return text.strip() == stub.strip() or _STUB.format(name=name) in text


def _key(sources: Sequence[CodeCell], why: str = "") -> str:
    """The hash of what is run: outputs, ids and prose do not count."""
    facts = [[[one.text, one.exercise] for one in sources], why]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
