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


def twins(text: Text, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Edits that are alike but for their names, made together."""
    alike: dict[tuple, list[Edit]] = {}
    for edit in edits:
        alike.setdefault((edit.kind, edit.variant, _shape(edit)), []).append(edit)
    for found in alike.values():
        found.sort(key=lambda edit: edit.start)
        apart = all(one.end <= other.start for one, other in itertools.pairwise(found))
        if 2 <= len(found) <= MOST and apart:
            yield _together(text, found)


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
