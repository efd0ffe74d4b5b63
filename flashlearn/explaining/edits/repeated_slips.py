"""The same slip made twice: what is written for M is written for N as well."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flashlearn.explaining.edits.source_text import Edit, Text

NAME = re.compile(r"[A-Za-z_]\w*")
MOST = 3
"""Places in which one and the same slip is looked for."""

ALIKE = 6
"""Places in which it is looked for where it is written the same way each time."""

TYPES = ("dtype", "narrow")
"""Edits of the type that a number is held in: where it begins, and where it is converted."""


def twins(text: Text, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Edits that are alike but for their names, made together; and those that are alike in every letter."""
    alike: dict[tuple, list[Edit]] = {}
    same: dict[tuple, list[Edit]] = {}
    for edit in edits:
        alike.setdefault((edit.kind, edit.variant, _shape(edit)), []).append(edit)
        kind = "narrow" if edit.kind in TYPES else edit.kind
        same.setdefault((kind, _along(edit.old), _along(edit.new)), []).append(edit)
    groups = [(found, MOST) for found in alike.values()] + [(found, ALIKE) for found in same.values()]
    seen: set[tuple] = set()
    for group, most in groups:
        found = sorted({edit.start: edit for edit in group}.values(), key=lambda edit: edit.start)
        places = (found[0].old, found[0].new, *((edit.start, edit.end) for edit in found))
        apart = all(one.end <= other.start for one, other in itertools.pairwise(found))
        if 2 <= len(found) <= most and apart and places not in seen:
            seen.add(places)
            yield _together(text, found)


def _along(written: str) -> str:
    """A vector lies along one axis in this tile, and along the other in the next."""
    return written.replace("[None, :]", "[:, None]")


def _shape(edit: Edit) -> str:
    """What becomes what, with numbers for names: `M // B + 1` and `N // C + 1` have one shape."""
    names: dict[str, str] = {}
    return NAME.sub(lambda name: names.setdefault(name[0], f"n{len(names)}"), f"{edit.old} → {edit.new}")


def _together(text: Text, found: list[Edit]) -> Edit:
    first, parts, at = found[0], [], found[0].start
    for edit in found:
        parts += [text.raw[at : edit.start].decode(), edit.put]
        at = edit.end
    lines = tuple(edit.line for edit in found[1:])
    return replace(first, end=at, put="".join(parts), also=lines)
