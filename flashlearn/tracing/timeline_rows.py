"""What is drawn of a Gluon program's events: tracks of rows, boxes, and edges from a cause to its wait.

Plain data in cycles of the timing model (flashlearn/interpreter/gluon/timeline.py). The copy engine's track
has a row for each barrier; the tensor core's has a row for each partition that issues products; everything
else is in the track of the partition that did it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flashlearn.observation import TimelineEvent

COPIES, PRODUCTS = "copy engine", "tensor core"
WAITS = ("wait", "wgmma wait", "store wait", "copy wait")
COPYING = ("tma load", "tma store", "cp.async")
STRETCHES = {"compute": "compute", "shared load": "shared", "shared store": "shared"}
SIGNALS = ("arrive", "expect", "fence", "init", "fork", "join")
INDEXED = re.compile(r"\[(\d+)\]$")
MAX_COPY_ROWS = 12  # of the copy engine
CROWDED = 26  # copies, products or waits in a row; more are drawn on request only


@dataclass(frozen=True)
class Row:
    """One row of the picture: its track, and its own name where the track has several rows."""

    track: str
    name: str


@dataclass(frozen=True)
class Box:
    """What happened in a row from `begin` to `end`: "compute", "shared", "wait", "copy", "product", "signal".

    `slot` is the index of the buffer's or barrier's place in its ring, −1 without one. `about` are the
    events that it shows; more than one where copies complete a phase together or short ones are merged.
    """

    row: int
    kind: str
    begin: float
    end: float
    label: str = ""
    slot: int = -1
    about: tuple[TimelineEvent, ...] = ()


@dataclass(frozen=True)
class Edge:
    """From what completed a phase (or the product) to the wait for it; `stalled` if the wait took time."""

    source: int
    left: float
    target: int
    seen: float
    stalled: bool
    slot: int


@dataclass(frozen=True)
class Scene:
    """A window of a program's time, in cycles: from `begin` to `end`, of `whole` in all."""

    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    begin: float
    end: float
    whole: float


def scene(events: Sequence[TimelineEvent], window: tuple[float, float] | None, width: int) -> Scene:
    """What is drawn of one program's events on `width` pixels; without a window, as much as is legible."""
    whole = max((event.end for event in events), default=0.0)
    rows = _Layout(events)
    boxes = [*_copies(events, rows), *_products(events, rows), *_partition_boxes(events, rows)]
    begin, end = window or (0.0, _legible_end(boxes, whole))
    inside = [box for box in boxes if box.end >= begin and box.begin <= end]
    pixel = max(end - begin, 1.0) / width
    edges = [edge for edge in _edges(events, rows) if begin <= edge.seen <= end and edge.left >= begin]
    used = {box.row for box in inside} | {at for edge in edges for at in (edge.source, edge.target)}
    used |= {at for at, row in enumerate(rows.all) if row.track not in (COPIES, PRODUCTS)}
    at = {old: new for new, old in enumerate(sorted(used))}
    return Scene(
        tuple(rows.all[old] for old in at),
        tuple(replace(box, row=at[box.row]) for box in _merged(inside, pixel)),
        tuple(replace(edge, source=at[edge.source], target=at[edge.target]) for edge in edges),
        begin,
        end,
        whole,
    )


class _Layout:
    """The rows of a picture: copies above, partitions (those that issue copies first), products below."""

    def __init__(self, events: Sequence[TimelineEvent]):
        self.slots = _slots(events)
        self.names = partitions(events)
        asking = [e.index for e in events if e.what == "tma load"]
        order = sorted(self.names, key=lambda index: (index not in asking, index))
        loads = dict.fromkeys(self.key(e) for e in events if e.what in COPYING)
        self.together = len(loads) > MAX_COPY_ROWS
        if self.together:
            loads = dict.fromkeys(re.sub(INDEXED, "", key) for key in loads)
        products = dict.fromkeys(self.names[e.index] for e in events if e.what == "wgmma")
        self.all = [Row(COPIES, key) for key in loads]
        self.all += [Row(self.names[index], "") for index in order]
        self.all += [Row(PRODUCTS, name if len(products) > 1 else "") for name in products]
        self.of_partition = {index: len(loads) + at for at, index in enumerate(order)}
        self.of_copies = {key: at for at, key in enumerate(loads)}
        self.of_products = {name: len(self.all) - len(products) + at for at, name in enumerate(products)}

    def key(self, event: TimelineEvent) -> str:
        """The name of a copy's row: its barrier, or its kind without one."""
        if event.what == "tma load":
            return event.barrier
        return "stores" if event.what == "tma store" else "cp.async"

    def row(self, event: TimelineEvent) -> int:
        """Where an event is drawn."""
        if event.what in COPYING:
            key = self.key(event)
            return self.of_copies[re.sub(INDEXED, "", key) if self.together else key]
        if event.what == "wgmma":
            return self.of_products[self.names[event.index]]
        return self.of_partition[event.index]


def partitions(events: Iterable[TimelineEvent]) -> dict[int, str]:
    """The partitions' names by number; the first goes by the name that it has inside `warp_specialize`."""
    found: dict[int, str] = {}
    for event in events:
        if event.index not in found or event.what not in ("init", "fork", "join", "expect"):
            found.setdefault(event.index, event.partition)
    forked = next((e for e in events if e.what == "fork"), None)
    if forked is not None:
        inside = (e.partition for e in events if e.index == 0 and e.partition != forked.partition)
        found[0] = next(inside, found.get(0, forked.partition))
    return found


def index_of(name: str) -> int:
    """The place in its ring: 1 of "full[1]", −1 of "full"."""
    found = INDEXED.search(name)
    return int(found[1]) if found else -1


def ring_of(name: str) -> str:
    """The ring that a buffer or barrier belongs to: "full" of "full[1]"."""
    return INDEXED.sub("", name)


def _slots(events: Iterable[TimelineEvent]) -> dict[int, int]:
    """By event: its slot in the ring. A product has the slot of the barrier of its last operand."""
    came: dict[str, int] = {}
    found: dict[int, int] = {}
    for event in events:
        if event.what == "tma load":
            came[event.buffer] = found[event.number] = index_of(event.barrier)
        elif event.what == "wgmma":
            last = event.buffer.split(", ")[-1]
            found[event.number] = came.get(last, index_of(last))
        elif event.barrier:
            found[event.number] = index_of(event.barrier)
        elif event.buffer:
            found[event.number] = came.get(event.buffer, index_of(event.buffer))
    return found


def _copies(events: Sequence[TimelineEvent], rows: _Layout) -> list[Box]:
    """Copies; those that complete one phase of a barrier together are one box."""
    groups: dict[tuple, list[TimelineEvent]] = {}
    for event in events:
        if event.what in COPYING and event.end > event.begin:
            alone = event.number if event.what != "tma load" else -1
            groups.setdefault((event.what, event.barrier, event.phase, alone), []).append(event)
    boxes = []
    for (what, *_), group in groups.items():
        names = dict.fromkeys(ring_of(e.buffer) for e in group if e.buffer)
        label = " + ".join(names) or what
        begin, end = min(e.begin for e in group), max(e.end for e in group)
        slot = rows.slots.get(group[0].number, -1)
        boxes.append(Box(rows.row(group[0]), "copy", begin, end, label, slot, tuple(group)))
    return boxes


def _products(events: Sequence[TimelineEvent], rows: _Layout) -> list[Box]:
    return [
        Box(rows.row(e), "product", e.begin, e.end, e.buffer.split(", ")[-1], rows.slots[e.number], (e,))
        for e in events
        if e.what == "wgmma"
    ]


def _partition_boxes(events: Sequence[TimelineEvent], rows: _Layout) -> list[Box]:
    """The work of the partitions themselves, and their waits."""
    boxes = []
    for e in events:
        row, slot = rows.of_partition[e.index], rows.slots.get(e.number, -1)
        if e.what in STRETCHES:
            boxes.append(Box(row, STRETCHES[e.what], e.begin, e.end, e.buffer, -1, (e,)))
        elif e.what in WAITS and e.end > e.begin:
            boxes.append(Box(row, "wait", e.begin, e.end, e.barrier or _awaited(e), slot, (e,)))
        elif e.what in SIGNALS:
            boxes.append(Box(row, "signal", e.begin, e.end, e.barrier or e.what, slot, (e,)))
    return boxes


def _awaited(event: TimelineEvent) -> str:
    return {"wgmma wait": "product", "store wait": "copy out", "copy wait": "copies"}[event.what]


def _legible_end(boxes: Sequence[Box], whole: float) -> float:
    """Where the window ends by default: before a row is too crowded to be read."""
    rows: dict[int, list[float]] = {}
    for box in boxes:
        if box.kind in ("copy", "product", "wait"):
            rows.setdefault(box.row, []).append(box.begin)
    crowded = [sorted(begins)[CROWDED] for begins in rows.values() if len(begins) > CROWDED]
    return min(crowded, default=whole)


def _merged(boxes: Sequence[Box], pixel: float) -> list[Box]:
    """The boxes; neighbours of one kind that are less than two pixels apart are one box."""
    kept: list[Box] = []
    last: dict[tuple[int, str], int] = {}
    for box in sorted(boxes, key=lambda box: box.begin):
        key = (box.row, box.kind)
        near = kept[last[key]] if key in last else None
        merges = box.kind in ("compute", "shared", "signal")
        if near is not None and merges and box.begin - near.end < 2 * pixel and box.slot == near.slot:
            label = near.label if near.label == box.label else ""
            about = near.about + box.about
            kept[last[key]] = replace(near, end=max(near.end, box.end), label=label, about=about)
            continue
        last[key] = len(kept)
        kept.append(box)
    return kept


def _edges(events: Sequence[TimelineEvent], rows: _Layout) -> list[Edge]:
    """For every wait, an edge from the last of the events that it waited for."""
    by_number = {event.number: event for event in events}
    found = []
    for wait in events:
        causes = [by_number[n] for n in wait.after if n in by_number]
        if wait.what not in WAITS or not causes:
            continue
        cause = max(causes, key=lambda event: event.end)
        slot = rows.slots.get(wait.number, rows.slots.get(cause.number, -1))
        stalled = wait.end > wait.begin
        found.append(Edge(rows.row(cause), cause.end, rows.row(wait), wait.end, stalled, slot))
    return found
