"""Whether an output that an edit makes right has a mistake of its own, or only shows that of another one.

tiles = ceiling(end / edge)         # wrong
return tiles, tiles * edge - end    # right but for `tiles`: an edit here would make up for it
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.output_slice import output_slices, returned_values
from flashlearn.running.answer_source import Section

Line = tuple[int, int]


def have_their_own_mistake(
    sections: Sequence[Section],
    outputs: Sequence[str],
    repaired: Iterable[str],
    others: Iterable[str],
    edit: tuple[int, Edit],
    explained: bool,
) -> bool:
    """Whether an edit, with its section's number, that makes outputs right may take back a mistake of these.

    It does not where all lines of another wrong output lead to them: they have the mistake of that one, for
    which the edit makes up. Nor does it change a line on which an `explained` one depends: what gives its
    numbers would not any more.
    """
    slices = {name: _lines(of) for name, of in output_slices(sections, outputs).items()}
    if set(slices) != set(outputs):
        return True
    values = dict(zip(outputs, returned_values(sections[-1], len(outputs)), strict=True))
    fed: set[Line] = set().union(*(slices[name] for name in repaired))
    returned = {(len(sections) - 1, v.lineno) for v in values.values()}
    at = {(edit[0], line) for line in (edit[1].line, *edit[1].also)} - returned
    for other in others:
        computed_there = not isinstance(values[other], ast.Name)
        if not computed_there and not slices[other] - fed - returned:
            return False
        if explained and at & slices[other]:
            return False
    return True


def _lines(of: Sequence[set[int]]) -> set[Line]:
    return {(i, line) for i, lines in enumerate(of) for line in lines}
