"""What the comments in a cell ask for: INCLUDE, solution regions, and what the learner gets instead."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from flashlearn.course.lesson_reader import HINTS, split_hints

BEGIN = re.compile(r"(\s*)### BEGIN SOLUTION\s*$")
END = re.compile(r"\s*### END SOLUTION\s*$")
STUB = re.compile(r"\s*# STUB:(?: (.*)|\s*)$")
INCLUDE = re.compile(r"(\s*)# INCLUDE:\s*(\S+?):(\w+)\s*$")
FORMS = (
    "write `### BEGIN SOLUTION`, `### END SOLUTION`, `# STUB: a line`, `# HINT: a hint` or "
    "`# INCLUDE: file.py:name`"
)
ALMOST = re.compile(r"\s*#+\s*(BEGIN SOLUTION|END SOLUTION|STUB|HINT|INCLUDE)\b")
HEADING = re.compile(r"(#{2,4} Exercise)( \d+)?(:.*)$")


@dataclass(frozen=True)
class Problem:
    """Something that an author has to fix, with its place. `file` is relative to the course's root."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class SourceError(Exception):
    """A lesson cannot be built; `problems` say where and why."""

    def __init__(self, problems: list[Problem] | tuple[Problem, ...]):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True)
class Line:
    """A line of a cell and where it was written; `included` if an INCLUDE brought it."""

    text: str
    file: str
    number: int
    included: bool = False

    def problem(self, message: str) -> Problem:
        return Problem(self.file, self.number, message)


def expand(line: Line, root: Path, problems: list[Problem]) -> list[Line]:
    """The line itself, or the source that its INCLUDE names."""
    match = INCLUDE.match(line.text)
    if not match:
        return [line]
    indent, file, name = match.groups()
    try:
        text = (root / file).read_text(encoding="utf-8")
        first, last = _definition(text, name)
    except FileNotFoundError:
        problems.append(line.problem(f"INCLUDE of {file}, which is not in the course"))
    except SyntaxError as error:
        problems.append(
            line.problem(f"INCLUDE of {file}, which does not parse: {error.msg} at line {error.lineno}")
        )
    except LookupError as error:
        problems.append(
            line.problem(f"INCLUDE of {name}, which {file} does not define; it has {error.args[0]}")
        )
    else:
        numbered = list(enumerate(text.splitlines(), 1))[first - 1 : last]
        return [Line(indent + s if s.strip() else "", file, n, included=True) for n, s in numbered]
    return [line]


def _definition(text: str, name: str) -> tuple[int, int]:
    """First and last line of a top-level definition, from its decorators to its last comment."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        for target in getattr(node, "targets", [getattr(node, "target", node)]):
            found[getattr(target, "name", getattr(target, "id", ""))] = node
    if name not in found:
        raise LookupError(", ".join(sorted(filter(None, found))) or "no definitions")
    node, lines = found[name], text.splitlines()
    last = end = node.end_lineno or node.lineno
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1  # comments that close a body, an END SOLUTION among them, are no part of the syntax tree
        last = end if lines[end - 1].strip() else last
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]), last


def hints_of(
    place: Line, name: str, lines: list[Line], problems: list[Problem]
) -> tuple[tuple[str, ...], list[Line]]:
    """The hints of a cell, and its other lines; only an exercise's cell has hints, HINTS of them if any."""
    hints, rest = split_hints([line.text for line in lines])
    if hints and not name:
        problems.append(place.problem("HINT outside an exercise's cell: no exercise gives it"))
    elif hints and len(hints) != HINTS:
        problems.append(place.problem(f"{name} has {len(hints)} hints instead of {HINTS}"))
    return hints, [lines[index] for index in rest]


def stub_of(lines: list[Line], problems: list[Problem]) -> tuple[list[str], list[Line]]:
    """The learner's lines, and the lines that begin a region."""
    learner: list[str] = []
    regions: list[Line] = []
    begin, stubs, indent = None, 0, ""
    for line in lines:
        if match := BEGIN.match(line.text):
            if begin:
                problems.append(
                    line.problem(f"BEGIN SOLUTION inside the region that began at line {begin.number}")
                )
                continue
            begin, stubs, indent = line, 0, match[1]
            regions.append(line)
        elif END.match(line.text):
            if not begin:
                problems.append(line.problem("END SOLUTION without a BEGIN SOLUTION before it"))
            elif not stubs:
                problems.append(
                    begin.problem("a solution region without STUB: say in `# STUB:` lines what replaces it")
                )
            begin = None
        elif match := STUB.match(line.text):
            if not begin:
                problems.append(line.problem("STUB outside a solution region: it replaces nothing"))
            stubs += 1
            learner.append((indent + (match[1] or "")).rstrip())
        elif ALMOST.match(line.text) and (line.included or not INCLUDE.match(line.text)):
            problems.append(line.problem(f"cannot read `{line.text.strip()}`: {FORMS}"))
        elif not begin:
            learner.append(line.text)
    if begin:
        problems.append(begin.problem("BEGIN SOLUTION without an END SOLUTION in its cell"))
    return learner, regions


def check_exercise(
    place: Line, name: str, lines: list[Line], stub: str, regions: list[Line], problems: list[Problem]
) -> None:
    """Whether an exercise's cell defines its function, in solution and stub, and the stub says TODO."""
    problem = place.problem
    if not (isinstance(name, str) and name.isidentifier() and name.isascii() and len(name) <= 60):
        problems.append(
            problem(f"{name!r} cannot name an exercise: use the function's name, at most 60 letters")
        )
        return
    if not regions:
        problems.append(problem(f"{name} has no solution region: the learner would be given the answer"))
    elif "TODO" not in stub:
        problems.append(
            problem(f"the stub of {name} does not say TODO: the check could not tell that it is one")
        )
    for kind, source in (("stub", stub), ("solution", text_of(lines))):
        try:
            defined = _names(source)
        except SyntaxError as error:
            problems.append(
                problem(f"the {kind} of {name} does not parse: {error.msg}, line {error.lineno} of the cell")
            )
        else:
            if name not in defined:
                problems.append(problem(f"the {kind} of {name} defines no function of that name"))


def _names(source: str) -> set[str]:
    """Names that a cell's top level defines."""
    body = ast.parse(without_magics(source)).body
    assigned = {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return assigned | {n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def is_marking(text: str) -> bool:
    """Whether a line is a marker of a solution region or a STUB line."""
    return bool(BEGIN.match(text) or END.match(text) or STUB.match(text))


def text_of(lines: list[Line] | tuple[Line, ...]) -> str:
    """The lines as one text."""
    return "\n".join(line.text for line in lines)


def without_magics(source: str) -> str:
    """Python that compiles, line for line: `%matplotlib inline` and `!ls` become comments."""
    return re.sub(r"^(?=%%?\w|!)", "pass  # ", source, flags=re.MULTILINE)
