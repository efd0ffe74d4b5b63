"""The files of the corpus: a header, then the answer's text or what it changes in another text.

    # label: wrong
    # title: the loop starts at BLOCK
    # says: The first BLOCK columns of each row are never read, because the loop
    #   starts at BLOCK.
    # names: first tile missing; one edit
    # base: right_walk_along_the_row

    # --- replace
        for start in range(0, columns, BLOCK):
    # --- with
        for start in range(BLOCK, columns, BLOCK):

The header is `# key: value` lines up to the first blank one; `#   ` continues a value. Its keys:

label   wrong or right; a file whose name begins with an underscore is part of answers and has `part` instead
title   names the answer in reports; no two answers of an exercise with one label have the same
says    what a good teacher would say about a wrong answer; the style of a right one (default: its title)
names   the names of findings that would say it, separated by semicolons; only for wrong answers
base    the file whose text is changed
uses    names that come from other answers, as EXERCISE/FILE.NAME; separated by semicolons
launcher  the function that is checked (default: the last function that is not a kernel)

Without `base` the rest of the file is the text. With it, each run of whole lines after `# --- replace`, which
must occur exactly once, becomes the lines after `# --- with`; blank lines around either do not count. A line
`# INCLUDE: _file` of a text stands for the text of that file. Files of other exercises are named as
EXERCISE/FILE.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

ANSWERS = Path(__file__).parent / "answers"

REPLACE, WITH, INCLUDE = "# --- replace", "# --- with", "# INCLUDE: "


def answer_keys() -> Iterator[str]:
    """EXERCISE/FILE of every answer, sorted."""
    for path in sorted(ANSWERS.glob("*/*.py")):
        if not path.name.startswith("_"):
            yield f"{path.parent.name}/{path.stem}"


@functools.cache
def header_and_body(key: str) -> tuple[dict[str, str], str]:
    """A file's header, and what follows it. Raises ValueError for a header line without a key."""
    top, _, body = (ANSWERS / f"{key}.py").read_text().partition("\n\n")
    header: dict[str, str] = {}
    name = ""
    for line in top.splitlines():
        if line.startswith("#   ") and name:
            header[name] += " " + line[4:]
            continue
        name, colon, value = line.removeprefix("# ").partition(": ")
        if not line.startswith("# ") or not colon:
            raise ValueError(f"{key}: {line!r} is not `# key: value`")
        header[name] = value
    return header, body


@functools.cache
def text_of(key: str) -> str:
    """The whole text of an answer, or of a part. Raises ValueError where an edit does not apply."""
    header, body = header_and_body(key)
    exercise = key.partition("/")[0]
    if base := header.get("base"):
        text = text_of(_full_key(base, exercise))
        for old, new in edits_of(body):
            text = replaced_lines(text, old, new, key)
        return text
    lines = body.splitlines(keepends=True)
    return "".join(
        text_of(_full_key(line.removeprefix(INCLUDE).strip(), exercise)) if line.startswith(INCLUDE) else line
        for line in lines
    )


def _full_key(name: str, exercise: str) -> str:
    return name if "/" in name else f"{exercise}/{name}"


def edits_of(body: str) -> Iterator[tuple[str, str]]:
    """The (old, new) lines of a file that has a base."""
    for block in f"\n{body}".split(f"\n{REPLACE}\n")[1:]:
        old, marker, new = f"{block}\n".partition(f"\n{WITH}\n")
        if not marker:
            raise ValueError(f"`{REPLACE}` without `{WITH}` in\n{block}")
        yield old.strip("\n"), new.strip("\n")


def replaced_lines(text: str, old: str, new: str, key: str) -> str:
    """`text` with the whole lines `old` replaced by `new`.

    Raises ValueError if they do not occur exactly once.
    """
    found = f"\n{text}".count(f"\n{old}\n")
    if found != 1:
        raise ValueError(f"{key}: these lines occur {found} times, not once:\n{old}\nin\n{text}")
    return f"\n{text}".replace(f"\n{old}\n", f"\n{new}\n" if new else "\n")[1:]


def names_used(key: str) -> list[tuple[str, str]]:
    """(EXERCISE/FILE, NAME) of all that an answer takes from other answers, by way of its base as well."""
    header, _ = header_and_body(key)
    if "uses" not in header and "base" in header:
        return names_used(_full_key(header["base"], key.partition("/")[0]))
    listed = header.get("uses", "").split(";")
    return [(file, name) for file, _, name in (each.strip().rpartition(".") for each in listed) if name]


def launcher_of(key: str) -> str:
    """The name of the function that is checked; empty for the last one that is not a kernel."""
    header, _ = header_and_body(key)
    if "launcher" not in header and "base" in header:
        return launcher_of(_full_key(header["base"], key.partition("/")[0]))
    return header.get("launcher", "")
