"""The same mistake in several places: what is written for M is often written for N as well."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flashlearn.explaining.edits.edit import Edit, SourceText

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
SIMILAR_PLACES = 3
"""How often the same mistake may occur with other names."""

EQUAL_PLACES = 6
"""How often it may occur in exactly the same words."""


def repeated_edits(text: SourceText, edits: Iterable[Edit], within: bool = False) -> Iterator[Edit]:
    """Edits that differ in their names alone, made together; and edits that do not differ at all.

    With `within` the latter are also made together in one line, where others have the same.
    """
    similar: dict[tuple, list[Edit]] = {}
    equal: dict[tuple, list[Edit]] = {}
    for edit in edits:
        similar.setdefault((edit.kind.name, edit.variant, _shape(edit)), []).append(edit)
        kind = edit.kind.repeats_as or edit.kind.name
        equal.setdefault((kind, _along_rows(edit.old), _along_rows(edit.new)), []).append(edit)
        if within:
            equal.setdefault((kind, edit.old, edit.new, edit.line), []).append(edit)
        if added := _added(edit):
            equal.setdefault((kind, added), []).append(edit)
    groups = [(group, SIMILAR_PLACES) for group in similar.values()]
    groups += [(group, EQUAL_PLACES) for group in equal.values()]
    seen: set[tuple] = set()
    for group, most in groups:
        edits = sorted({edit.start: edit for edit in group}.values(), key=lambda edit: edit.start)
        places = (edits[0].old, edits[0].new, *((edit.start, edit.end) for edit in edits))
        disjoint = all(one.end <= other.start for one, other in itertools.pairwise(edits))
        if 2 <= len(edits) <= most and disjoint and places not in seen:
            seen.add(places)
            yield _together(text, edits)


def _along_rows(written: str) -> str:
    """The text with every vector as a column: in the next tile it may run along the other axis."""
    return written.replace("[None, :]", "[:, None]")


def _added(edit: Edit) -> str:
    """The keyword argument that an edit adds to a call, and changes nothing else."""
    before, after = edit.old.removesuffix(")"), edit.new.removesuffix(")")
    return after.removeprefix(before) if before != edit.old and after.startswith(f"{before}, ") else ""


def _shape(edit: Edit) -> str:
    """What becomes what, with numbers for names: `M // B + 1` and `N // C + 1` have one shape."""
    names: dict[str, str] = {}
    return IDENTIFIER.sub(
        lambda name: names.setdefault(name[0], f"n{len(names)}"), f"{edit.old} → {edit.new}"
    )


def _together(text: SourceText, edits: list[Edit]) -> Edit:
    first, parts, at = edits[0], [], edits[0].start
    for edit in edits:
        parts += [text.raw[at : edit.start].decode(), edit.put]
        at = edit.end
    lines = tuple(edit.line for edit in edits[1:])
    return replace(first, end=at, put="".join(parts), also=lines)
