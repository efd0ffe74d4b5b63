"""The timeline of a Gluon program as one SVG: partitions as tracks, barriers as edges, waits as hollow boxes.

A box has the colour of its slot in the ring, in every track. Grey text and mid-tone colours without a
background are legible on light and dark pages. Every box has a `<title>`, which a page that shows the SVG
inline displays as a tooltip.
"""

from __future__ import annotations

import re
from html import escape

from flashlearn.tracing.timeline_rows import COPIES, PRODUCTS, Box, Edge, Scene, index_of, ring_of
from flashlearn.tracing.waits import count

GREY = "#797979"
PALETTE = ("#3977c8", "#b55e29", "#10847a", "#b6509a", "#6b7d1e", "#7e65c6")
"""Nearly as the lessons draw them: a shade darker where a white label is on it."""
WIDTH, GUTTER, RIGHT = 824, 164, 22  # pixels
PLOT = WIDTH - GUTTER - RIGHT
TALL, THIN, BETWEEN = 28, 19, 9  # pixels: a partition's row, another row, between tracks
LETTER = 6.7  # pixels of a character in 12 px
TRACK_LETTERS, ROW_LETTERS = 18, 13  # of a name at the left
MODEL = (
    "Cycles of a simple model, not measured: 128 lanes, 16 exponentials and 4096 operations of the tensor",
    "cores a cycle, which partitions share; copies at 64 bytes a cycle with a latency of 600.",
    "The waits and their order are the kernel's own; durations on a GPU differ.",
)


def svg(scene: Scene) -> str:
    """The picture, 824 pixels wide."""
    tops, heights, bottom = _places(scene)
    draw = _Drawing(scene, tops, heights)
    parts = [
        *draw.tracks(),
        *(draw.edge(edge) for edge in scene.edges),
        *(draw.box(box) for box in scene.boxes),
        *(draw.tip(edge) for edge in scene.edges if edge.stalled),
        *_axis(scene, bottom),
        *_legend(scene, bottom + 40),
    ]
    height = bottom + 62 + 15 * len(MODEL)
    model = "".join(
        f'<text x="2" y="{bottom + 64 + 15 * number}" font-size="12">{escape(line)}</text>'
        for number, line in enumerate(MODEL)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="system-ui, sans-serif" font-size="12" '
        f'fill="{GREY}">{"".join(parts)}{model}</svg>'
    )


def _places(scene: Scene) -> tuple[list[float], list[int], float]:
    """The upper edge and the height of every row, and the lower edge of the last one."""
    tops, heights, y, track = [], [], 4.0, None
    for row in scene.rows:
        if track is not None and row.track != track:
            y += BETWEEN
        track = row.track
        height = THIN if row.track in (COPIES, PRODUCTS) else TALL
        tops.append(y)
        heights.append(height)
        y += height
    return tops, heights, y


class _Drawing:
    """The coordinates of rows and cycles, and the elements drawn there."""

    def __init__(self, scene: Scene, tops: list[float], heights: list[int]):
        self.scene, self.tops, self.heights = scene, tops, heights

    def x(self, cycles: float) -> float:
        begin, end = self.scene.begin, self.scene.end
        inside = min(max(cycles, begin), end)
        return GUTTER + (inside - begin) / max(end - begin, 1.0) * PLOT

    def tracks(self) -> list[str]:
        """The names at the left and a hair line under each row."""
        parts, before = [], None
        for row, top, height in zip(self.scene.rows, self.tops, self.heights, strict=True):
            middle, room = top + height / 2 + 4, ROW_LETTERS
            if row.track != before:
                track = _short(row.track, TRACK_LETTERS)
                room = min(room, TRACK_LETTERS - len(track) + 1)  # beside the track's name
                bold = 'font-size="12" font-weight="600"'
                parts.append(f'<text x="2" y="{middle:.1f}" {bold}>{escape(track)}</text>')
            if row.name and room > 0:
                name = escape(_short(row.name, room))
                parts.append(f'<text x="{GUTTER - 6}" y="{middle:.1f}" text-anchor="end">{name}</text>')
            under = top + height - 0.5
            parts.append(
                f'<path d="M{GUTTER} {under:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.25"/>'
            )
            before = row.track
        return parts

    def box(self, box: Box) -> str:
        """A box with its tooltip, and its label where there is room."""
        left, right = self.x(box.begin), self.x(box.end)
        top, height = self.tops[box.row] + 2, self.heights[box.row] - 4
        colour = _colour(box.slot)
        tooltip = f"<title>{escape(_tooltip(box))}</title>"
        if box.kind == "signal":
            mark = f'd="M{left:.1f} {top + height:.1f}v-7" stroke="{colour}" stroke-width="2"'
            return f"<path {mark}>{tooltip}</path>"
        width = right - left if box.kind == "wait" else max(right - left, 1.2)
        at = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height}"'
        shape = f"<rect {at} {LOOKS[box.kind].format(colour=colour)}>{tooltip}</rect>"
        label = _fitting(width, *_labels(box))
        if not label:
            return shape
        middle, base = left + width / 2, top + height / 2 + 4.2
        ink = "" if box.kind == "wait" else ' fill="#ffffff"'
        where = f'x="{middle:.1f}" y="{base:.1f}" text-anchor="middle" pointer-events="none"'
        return f"{shape}<text {where}{ink}>{escape(label)}</text>"

    def ends(self, edge: Edge) -> tuple[float, float, float, float, bool]:
        """Where an edge leaves its cause and meets its wait, and whether it points down."""
        down = self.tops[edge.target] > self.tops[edge.source]
        y1 = self.tops[edge.source] + (self.heights[edge.source] - 2 if down else 2)
        y2 = self.tops[edge.target] + (2 if down else self.heights[edge.target] - 2)
        return self.x(edge.left), y1, self.x(edge.seen), y2, down

    def edge(self, edge: Edge) -> str:
        """A line from the end of the cause to the end of the wait; faint where the wait took no time."""
        if edge.source == edge.target:
            return ""
        x1, y1, x2, y2, _ = self.ends(edge)
        strength = "1.2" if edge.stalled else '0.8" stroke-opacity="0.4" stroke-dasharray="1 2'
        line = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        return f'<path d="{line}" stroke="{_colour(edge.slot)}" stroke-width="{strength}"/>'

    def tip(self, edge: Edge) -> str:
        """The head of an edge's arrow."""
        _, _, x, y, down = self.ends(edge)
        return f'<path d="M{x:.1f} {y:.1f}l-2.8 {-5 if down else 5}h5.6z" fill="{_colour(edge.slot)}"/>'


LOOKS = {
    "wait": f'rx="3" fill="{GREY}" fill-opacity="0.04" stroke="{{colour}}" stroke-width="1.2" '
    'stroke-dasharray="3 2"',
    "copy": 'rx="1.5" fill="{colour}"',
    "product": 'rx="1.5" fill="{colour}"',
    "compute": f'fill="{GREY}" fill-opacity="0.85"',
    "shared": f'fill="{GREY}" fill-opacity="0.25" stroke="{GREY}"',  # an outline: the fill alone is too faint
}


def _short(name: str, room: int) -> str:
    """A name cut to `room` letters; a number at its end stays."""
    name = name.removesuffix("_kernel")
    if len(name) <= room:
        return name
    number = re.search(r" \d+$", name)
    end = f"…{number[0] if number and room > 4 else ''}"
    return name[: max(room - len(end), 0)] + end


def _colour(slot: int) -> str:
    return PALETTE[slot % len(PALETTE)] if slot >= 0 else GREY


def _labels(box: Box) -> tuple[str, ...]:
    """Possible labels of a box, the longest first."""
    if box.kind == "wait":
        cycles = count(box.end - box.begin)
        return f"{box.label} {cycles}", cycles
    if box.kind not in ("copy", "product"):
        return ()
    ring, index = ring_of(box.label), index_of(box.label)
    short = " + ".join(part.split("_")[0] for part in ring.split(" + "))
    at = f"[{index}]" if index >= 0 else ""
    return box.label, f"{short}{at}", short, str(box.slot) if box.slot >= 0 else ""


def _fitting(width: float, *labels: str) -> str:
    """The first label that has room."""
    return next((label for label in labels if label and len(label) * LETTER + 4 <= width), "")


def _tooltip(box: Box) -> str:
    """The tooltip: what it was, from when to when, and the lines."""
    first = box.about[0]
    span = f"{count(box.begin)} to {count(box.end)}"
    text = {
        "copy": f"{first.what} of {', '.join(e.buffer for e in box.about)}" if first.buffer else first.what,
        "product": f"{first.what} by {first.partition} of {first.buffer}",
        "wait": f"{first.partition} waits {count(box.end - box.begin)} cycles for {box.label}",
        "compute": f"{first.partition} computes",
        "shared": f"{first.partition}: {first.what} {box.label}".strip(),
        "signal": f"{first.partition}: {', '.join(dict.fromkeys(e.what for e in box.about))} {box.label}",
    }[box.kind]
    if box.kind == "copy" and first.barrier:
        text += f", which completes phase {first.phase} of {first.barrier}"
    if first.what == "wait" and first.phase >= 0:
        text += f", phase {first.phase}"
    lines = dict.fromkeys(e.place.line for e in box.about if e.place)
    where = f"; line{'s' if len(lines) > 1 else ''} {', '.join(map(str, sorted(lines)[:6]))}" if lines else ""
    return f"{text} (cycles {span}{where})"


def _axis(scene: Scene, bottom: float) -> list[str]:
    span = max(scene.end - scene.begin, 1.0)
    step = next(s for p in range(12) for s in (10**p, 2 * 10**p, 5 * 10**p) if span / s <= 8)
    parts = [f'<path d="M{GUTTER} {bottom + 4:.1f}H{WIDTH - RIGHT}" stroke="{GREY}"/>']
    at = -(-scene.begin // step) * step
    while at <= scene.end:
        x = GUTTER + (at - scene.begin) / span * PLOT
        parts.append(f'<path d="M{x:.1f} {bottom + 4:.1f}v4" stroke="{GREY}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 19:.1f}" text-anchor="middle">{count(at)}</text>')
        at += step
    parts.append(f'<text x="2" y="{bottom + 19:.1f}" font-size="12">cycles</text>')
    return parts


def _legend(scene: Scene, y: float) -> list[str]:
    """What the shapes and colours mean; only what the picture has."""
    kinds = {box.kind for box in scene.boxes}
    slots = sorted({box.slot for box in scene.boxes if box.slot >= 0})
    swatch = '<rect y="-9" width="14" height="10"'
    entries = [(f'{swatch} fill="{_colour(slot)}"/>', f"slot {slot}") for slot in slots[: len(PALETTE)]]
    if len(slots) > len(PALETTE):
        entries[-1] = (entries[-1][0], f"slot {slots[len(PALETTE) - 1]}, and the colours repeat")
    marks = {
        "compute": (f"{swatch} {LOOKS['compute']}/>", "computes"),
        "shared": (f"{swatch} {LOOKS['shared']}/>", "loads or stores shared memory"),
        "wait": (f'{swatch} rx="3" fill="none" stroke="{GREY}" stroke-dasharray="3 2"/>', "waits"),
        "signal": (f'<path d="M7 1v-7" stroke="{GREY}" stroke-width="2"/>', "arrives, expects, fences"),
    }
    entries += [mark for kind, mark in marks.items() if kind in kinds]
    if scene.edges:
        entries.append(
            (
                f'<path d="M7 -10V-2" stroke="{GREY}"/><path d="M7 1l-2.6 -5h5.2z" fill="{GREY}"/>',
                "ends a wait",
            )
        )
    parts, x = [], 2.0
    for mark, name in entries:
        parts.append(
            f'<g transform="translate({x:.0f} {y:.1f})">{mark}<text x="19">{escape(name)}</text></g>'
        )
        x += 19 + LETTER * len(name) + 14
    return parts
