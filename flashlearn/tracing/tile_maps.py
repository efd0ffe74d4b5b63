"""The maps of a trace as one SVG: each tensor's last two dimensions, and the tiles in the order of access.

Without a script it is the final state, with the numbers of the steps on the tiles. The script of a live page
takes the same SVG and shows one step at a time; it finds the tiles by `class="t"` and their steps in
`data-s`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from flashlearn.report.units import dtype_name
from flashlearn.tracing.geometry import Range

if TYPE_CHECKING:
    from flashlearn.tracing.data import ProgramTrace
    from flashlearn.tracing.steps import Step

COLOURS = {"read": "#3a78c9", "write": "#b8602a", "update": "#8067c8"}  # as the lessons draw them
GREY = "#797979"
WIDTH, GAP, HEADER = 824, 26, 34  # pixels
WIDEST, TALLEST, THINNEST = 178, 132, 24  # pixels of one map
MOST_MAPS = 16
LETTER = 7.2  # pixels of a character in 12 px, bold


@dataclass(frozen=True)
class TileBox:
    """A tile on its map, (rows, columns): what was touched, and what all lanes would have touched."""

    touched: tuple[Range, Range]
    asked: tuple[Range, Range]
    verb: str
    filled: bool


@dataclass
class Map:
    """One head of a tensor: `boxes` in order of first access, each with the numbers of its steps."""

    title: str
    subtitle: str
    rows: int
    columns: int
    boxes: dict[TileBox, list[int]] = field(default_factory=dict)

    @property
    def extent(self) -> tuple[Range, Range]:
        """Rows and columns to draw: the tensor's own, and where tiles hang over its edges."""
        spans = [box.asked for box in self.boxes]
        rows = min(0, *(r[0] for r, _ in spans)), max(self.rows, *(r[1] for r, _ in spans))
        columns = min(0, *(c[0] for _, c in spans)), max(self.columns, *(c[1] for _, c in spans))
        return rows, columns


def maps(trace: ProgramTrace, steps: Sequence[Step]) -> list[Map]:
    """The maps that the steps touch, in the order in which they do; at most 16."""
    flat = _strips(steps)
    found: dict[tuple, Map] = {}
    for step in steps:
        if step.tile is None:
            continue
        kept = 1 if step.tensor in flat else 2
        at = max(len(step.shape) - kept, 0)
        key = (step.tensor, *(low for low, _ in step.tile.touched[:at]))
        if key not in found:
            if len(found) == MOST_MAPS:
                continue
            found[key] = _empty(trace, step, key[1:])
        box = TileBox(_two(step.tile.touched[at:]), _two(step.tile.asked[at:]), step.verb, step.tile.filled)
        found[key].boxes.setdefault(box, []).append(step.number)
    return list(found.values())


def _strips(steps: Sequence[Step]) -> set[str]:
    """Tensors with heads of which every step touches one row: their maps show that row."""
    tall = {s.tensor for s in steps if s.tile and len(s.shape) > 1 and _height(s) > 1}
    return {s.tensor for s in steps if len(s.shape) < 2 or (len(s.shape) > 2 and s.tensor not in tall)}


def _height(step: Step) -> int:
    low, high = step.tile.asked[-2]
    return high - low


def _two(ranges: tuple[Range, ...]) -> tuple[Range, Range]:
    return ((0, 1), (0, 1), *ranges)[-2:]


def _empty(trace: ProgramTrace, step: Step, leading: tuple[int, ...]) -> Map:
    rows, columns = (1, 1, *step.shape[len(leading) :])[-2:]
    title = f"{step.tensor}[{', '.join(map(str, leading))}]" if leading else step.tensor
    sizes = " × ".join(str(n) for n in step.shape[len(leading) :]) or "1"
    dtype = trace.launch.dtypes.get(step.tensors[0])
    return Map(title, f"{sizes}{', ' + dtype_name(dtype) if dtype is not None else ''}", rows, columns)


def svg(drawn: Sequence[Map], identity: str) -> str:
    """All maps in rows of at most 824 pixels. `identity` makes the pattern's name unique on a page."""
    parts, x, y, tallest = [], 0.0, 0.0, 0.0
    for one, (width, height) in zip(drawn, _sizes(drawn), strict=True):
        needed = max(width, LETTER * max(len(one.title), len(one.subtitle)))
        if x and x + needed > WIDTH - 4:
            x, y, tallest = 0.0, y + tallest + GAP, 0.0
        parts.append(f'<g transform="translate({x:.4g} {y:.4g})">{_map(one, width, height, identity)}</g>')
        x += needed + GAP
        tallest = max(tallest, HEADER + height + 6)
    total = y + tallest
    hatch = (
        f'<pattern id="{identity}" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path d="M0 0V6" stroke="{GREY}" stroke-width="2.6"/></pattern>'
    )
    parts = [f'<g transform="translate(2 0)">{"".join(parts)}</g>']
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{total:.0f}" '
        f'viewBox="0 0 {WIDTH} {total:.0f}" font-family="system-ui, sans-serif" font-size="12" '
        f'fill="{GREY}"><defs>{hatch}</defs>{"".join(parts)}</svg>'
    )


def _sizes(drawn: Sequence[Map]) -> list[tuple[float, float]]:
    """Pixels of each map, true to scale unless one side would be too thin to see.

    Matrices share one scale, unless it would shrink the largest to less than half.
    """
    scales = []
    for one in drawn:
        (top, bottom), (left, right) = one.extent
        scales.append(min(WIDEST / (right - left), TALLEST / (bottom - top)))
    matrices = [scale for one, scale in zip(drawn, scales, strict=True) if one.rows > 1]
    common = min(matrices, default=0.0)
    shared = bool(matrices) and common > 0.5 * max(matrices)
    sizes = []
    for one, own in zip(drawn, scales, strict=True):
        (top, bottom), (left, right) = one.extent
        scale = common if shared and one.rows > 1 else own
        sizes.append((max((right - left) * scale, THINNEST), max((bottom - top) * scale, THINNEST)))
    return sizes


def _map(one: Map, width: float, height: float, identity: str) -> str:
    (top, bottom), (left, right) = one.extent
    across, down = width / (right - left), height / (bottom - top)

    def place(rows: Range, columns: Range) -> str:
        x, y = (columns[0] - left) * across, HEADER + (rows[0] - top) * down
        w, h = (columns[1] - columns[0]) * across, (rows[1] - rows[0]) * down
        return f'x="{_short(x)}" y="{_short(y)}" width="{_short(w)}" height="{_short(h)}"'

    parts = [
        f'<text y="12" font-size="13" font-weight="600">{escape(one.title)}</text>',
        f'<text y="26">{escape(one.subtitle)}</text>',
    ]
    for verb, colour in COLOURS.items():
        tiles = [_tile(box, steps, place, identity) for box, steps in one.boxes.items() if box.verb == verb]
        if tiles:
            parts.append(
                f'<g fill="{colour}" stroke="{colour}" fill-opacity="0.34" stroke-width="1.1">'
                f"{''.join(tiles)}</g>"
            )
    whole = place((0, one.rows), (0, one.columns))
    parts.append(f'<rect {whole} fill="none" stroke="{GREY}" stroke-width="1.2"/>')
    return "".join(parts)


def _tile(box: TileBox, steps: list[int], place, identity: str) -> str:
    """One tile: shaded, its masked-out part hatched, the numbers of its steps in the middle."""
    whole = box.touched == box.asked
    parts = [f'<rect class="f{" o" if whole else ""}" {place(*box.touched)}{"" if whole else _BARE}/>']
    for rows, columns in _beyond(box):
        parts.append(f'<rect class="h" {place(rows, columns)} fill="url(#{identity})" {_PLAIN}/>')
    if not box.filled:
        parts.append(f'<rect class="h" {place(*box.touched)} fill="url(#{identity})" {_PLAIN}/>')
    if not whole:
        parts.append(f'<rect class="o" {place(*box.asked)} fill="none"/>')
    w, label = 0.0, ""
    for span in (box.touched, box.asked):  # a tile that is mostly masked out has its number in the hatching
        x, y, w, h = (float(v) for v in place(*span).split('"')[1::2])
        if label := numbers(steps, w) if h > 11 else "":
            at = f'x="{_short(x + w / 2)}" y="{_short(y + h / 2 + 4)}"'
            parts.append(f'<text class="n" {at} {_LABEL}>{label}</text>')
            break
    listed = ",".join(map(str, steps))
    return f'<g class="t" data-s="{listed}" data-w="{w:.0f}">{"".join(parts)}</g>'


_LABEL = 'text-anchor="middle" font-weight="600" fill-opacity="1" stroke="none"'
_BARE, _PLAIN = ' stroke="none"', 'fill-opacity="1" stroke="none"'


def _short(pixels: float) -> str:
    return f"{pixels:.1f}".removesuffix(".0")


def _beyond(box: TileBox) -> list[tuple[Range, Range]]:
    """What `asked` has around `touched`: above, below, left and right."""
    (r0, r1), (c0, c1) = box.touched
    (top, bottom), (left, right) = box.asked
    around = [
        ((top, r0), (left, right)),
        ((r1, bottom), (left, right)),
        ((r0, r1), (left, c0)),
        ((r0, r1), (c1, right)),
    ]
    return [(rows, columns) for rows, columns in around if rows[1] > rows[0] and columns[1] > columns[0]]


def numbers(steps: Sequence[int], width: float) -> str:
    """Step numbers for a label of this width in pixels: all, or the first and how many, or none."""
    for label in (", ".join(map(str, steps)), f"{steps[0]} … ({len(steps)}×)", str(steps[0])):
        if LETTER * len(label) <= width:
            return label
    return ""
