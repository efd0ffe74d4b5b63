"""Got, expected and difference side by side, as text: a tile's values, or a small output's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flashlearn.report.tile_values import Chunk, Dump


def render_dump(dump: Dump) -> str:
    """A tile's values: got, expected and difference side by side."""
    lines = [dump.title, *(f"  {sentence}" for sentence in dump.sentences)]
    for chunk in dump.chunks:
        lines += ["", *side_by_side(chunk)]
    lines += ["", f"  {dump.legend}"] if dump.legend else []
    lines += ["", "  Its worst elements", *(f"  {line}" for line in dump.worst)] if dump.worst else []
    return "\n".join(line.rstrip() for line in lines)


def side_by_side(chunk: Chunk) -> list[str]:
    """A chunk's lines: what each column is, and a row for each of its rows."""
    parts = [[row.got for row in chunk.rows], [row.expected for row in chunk.rows]]
    parts.append([row.difference for row in chunk.rows])
    label = max(len(row.label) for row in chunk.rows) + 2
    blocks = []
    for name, block in zip(("got", "expected", "difference"), parts, strict=True):
        head = [f"{c} " if chunk.marked and name != "expected" else c for c in chunk.columns]
        wide = max(len(cell) for row in [*block, head] for cell in row) + 1
        body = ["".join(cell.rjust(wide) for cell in row) for row in (head, *block)]
        size = max(len(body[0]), len(name) + 1)
        title = f" {name}".ljust(size) if len(head) > 1 else name.rjust(size)
        blocks.append([title, *(line.rjust(size) for line in body)])
    labels = ["", "", *(row.label for row in chunk.rows)]
    lines = [" ".join([label_.rjust(label), *row]) for label_, *row in zip(labels, *blocks, strict=True)]
    return [line for line in lines if line.strip()]
