"""Pictures of a record: TFLOP/s over S, the roofline, speed relative to cuDNN, memory over S.

>>> throughput(shipped(), "forward")
"""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashlearn.bench.contestants import CUDNN
from flashlearn.bench.problems import DIRECTIONS
from flashlearn.bench.record import Record, mean
from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, bare, canvas, colour_of

MARKERS = "osD^vPX<p>h*"
"""A marker for each contestant: colours repeat after six, and are not told apart by everyone."""
MIB = 2**20


def every(record: Record) -> dict[str, Picture]:
    """All pictures by name."""
    drawn = {f"throughput_{direction}": throughput(record, direction) for direction in DIRECTIONS[:2]}
    drawn |= {f"roofline_{direction}": roofline(record, direction) for direction in DIRECTIONS[:2]}
    if CUDNN in record.contestants:
        drawn["ladder"] = ladder(record)
    if record.memory:
        drawn["memory"] = memory(record)
    return drawn


def throughput(record: Record, direction: str) -> Picture:
    """TFLOP/s over S, a panel for each D and mask, a line for each contestant."""
    panels = list(dict.fromkeys((p.D, p.causal) for p in record.problems))
    figure = Figure(figsize=(8, 2.7 * math.ceil(len(panels) / 2)), layout="constrained")
    grid = figure.subplots(math.ceil(len(panels) / 2), 2, squeeze=False, sharey=True)
    for axes, (D, causal) in zip(grid.flat, panels, strict=False):
        bare(axes)
        axes.set_title(f"{direction}, D {D}, {'causal' if causal else 'full'}")
        for number, name in enumerate(record.contestants):
            cells = [
                record.cell(name, p, direction) for p in record.problems if (p.D, p.causal) == (D, causal)
            ]
            points = [(c.problem.S, c.rate / 1e12) for c in cells if c]
            if points:
                axes.plot(*zip(*points, strict=True), **_line(record, number))
        _lengths(axes, {p.S for p in record.problems})
        axes.set_ylabel("TFLOP/s")
    # all panels have one scale, the fastest one's, which is known only now
    fastest = max((c.rate for c in record.cells if c.direction == direction), default=1e12) / 1e12
    grid.flat[0].set_ylim(0, 1.08 * fastest)
    _legend(figure, grid.flat[0])
    return Picture(
        figure, f"{_who(record)}: TFLOP/s of the {direction} pass over S. {_best(record, direction)}"
    )


def roofline(record: Record, direction: str) -> Picture:
    """Operations per byte that must move against TFLOP/s, beneath what this GPU reaches."""
    figure, (axes,) = canvas(7.5, 4)
    product, copy = record.reached["product"] / 1e12, record.reached["copy"] / 1e12
    cells = [cell for cell in record.cells if cell.direction == direction]
    intensity = {c.problem: c.problem.operations(direction) / c.problem.least_bytes(direction) for c in cells}
    right = 2 * max([*intensity.values(), product / copy])
    slope = [product / copy / 8, product / copy, right]
    axes.plot(slope, [min(product, copy * x) for x in slope], color=GREY, linewidth=1.5)
    axes.text(right, product, f"a large product, {product:.0f}", color=GREY, ha="right", va="bottom")
    axes.text(slope[0], copy * slope[0], f" a large copy, {copy:.2f} TB/s", color=GREY, va="top")
    for number, name in enumerate(record.contestants):
        mine = [(intensity[c.problem], c.rate / 1e12) for c in cells if c.contestant == name]
        if mine:
            axes.plot(*zip(*mine, strict=True), **{**_line(record, number), "linestyle": ""})
    axes.set(xscale="log", yscale="log", xlabel="operations per byte that must move", ylabel="TFLOP/s")
    axes.set_yticks([50, 100, 200, 500, 1000], ["50", "100", "200", "500", "1000"])
    axes.minorticks_off()
    _legend(figure, axes)
    limited = sum(one > product / copy for one in intensity.values())
    return Picture(
        figure,
        f"{_who(record)}: roofline of the {direction} pass. Arithmetic limits {limited} of {len(intensity)} "
        f"shapes: they lie right of the ridge at {product / copy:.0f} operations per byte.",
    )


def ladder(record: Record) -> Picture:
    """Each contestant's speed relative to cuDNN, forward and backward, geometric means over shapes."""
    sides = [(direction, causal) for direction in DIRECTIONS[:2] for causal in (False, True)]
    names = [n for n in record.contestants if any(c.contestant == n for c in record.cells)]
    figure, (axes,) = canvas(7.5, 0.5 + 0.6 * len(names))
    summaries = []
    for row, name in enumerate(names):
        for number, side in enumerate(sides):
            ratio = mean(record.ratios(name, CUDNN, *side))
            if ratio is None:
                continue
            y = row + 0.2 * (number - 1.5)
            axes.barh(y, ratio, height=0.18, color=colour_of(number))
            axes.text(ratio, y, f" {ratio:.2f}", color=GREY, va="center", fontsize=8)
            summaries.append(
                f"{record.contestants[name]} {side[0]}{' causal' if side[1] else ''} {ratio:.2f}"
            )
    axes.set_yticks(range(len(names)), [record.contestants[name] for name in names])
    axes.invert_yaxis()
    axes.axvline(1.0, color=GREY, linewidth=0.8)
    axes.set_xlabel("speed relative to SDPA's cuDNN backend")
    for number, (direction, causal) in enumerate(sides):
        axes.plot([], [], color=colour_of(number), label=f"{direction}, {'causal' if causal else 'full'}")
    _legend(figure, axes)
    return Picture(figure, f"{_who(record)}: speed relative to cuDNN. {'; '.join(summaries)}.")


def memory(record: Record) -> Picture:
    """What forward and backward pass hold at their peak over S: O(N) lies on a line, O(N²) leaves it."""
    figure, (axes,) = canvas(7.5, 3.6)
    summaries = []
    for number, name in enumerate(record.contestants):
        held = [(one.problem.S, one.peak_bytes / MIB) for one in record.memory if one.contestant == name]
        if held:
            axes.plot(*zip(*held, strict=True), **_line(record, number))
            summaries.append(f"{record.contestants[name]} {held[-1][1]:.0f} MiB at S {held[-1][0]}")
    axes.set_yscale("log")
    axes.yaxis.minorticks_off()
    _lengths(axes, {one.problem.S for one in record.memory})
    problem = record.memory[0].problem
    axes.set_ylabel("MiB beyond the inputs")
    axes.set_title(f"forward and backward, B {problem.B}, H {problem.H}, D {problem.D}")
    _legend(figure, axes)
    return Picture(figure, f"{_who(record)}: memory at its peak over S. {'; '.join(summaries)}.")


def _line(record: Record, number: int) -> dict[str, object]:
    """A contestant's look: the same in every picture of a record."""
    name = list(record.contestants)[number]
    look = {"color": colour_of(number), "marker": MARKERS[number % len(MARKERS)], "markersize": 5.5}
    if number >= len(PALETTE):  # a colour's second use: dashed, and its marker is hollow
        look |= {"linestyle": (0, (4, 2)), "markerfacecolor": "none", "markeredgewidth": 1.4}
    return {**look, "linewidth": 1.5, "label": record.contestants[name]}


def _lengths(axes: Axes, lengths: set[int]) -> None:
    axes.set_xscale("log", base=2)
    ticks = sorted(lengths)
    axes.set_xticks(ticks, [str(S) for S in ticks])
    axes.minorticks_off()
    axes.set_xlabel("S")


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, labelcolor=GREY, fontsize=9
    )


def _who(record: Record) -> str:
    return f"Measured on {record.device['gpu']}, {record.made[:10]}"


def _best(record: Record, direction: str) -> str:
    cells = [cell for cell in record.cells if cell.direction == direction]
    best = max(cells, key=lambda cell: cell.rate, default=None)
    if best is None:
        return ""
    who = record.contestants[best.contestant]
    return f"The fastest is {who} with {best.rate / 1e12:.0f} at {best.problem.name}."
