"""The pictures of lesson 05, third part: traffic of two designs, reading P against rebuilding it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, bare
from flashlearn.lessons.shared.printed_numbers import binary

COLOURS = STORE, REBUILD = PALETTE[1], PALETTE[0]

Bytes = Callable[[float, float], float]
"""Bytes of one head for (N, D)."""


def traffic(
    requested: Mapping[str, Bytes], unique: Mapping[str, Bytes], N: float = 4096, D: float = 64
) -> Picture:
    """Bytes of each design over N at this D, and over D at this N: solid requested, dashed unique."""
    figure = Figure(figsize=(9.6, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=False)
    lengths, widths = 2.0 ** np.arange(8, 15), np.geomspace(16, 256, 33)
    for colour, name in zip(COLOURS, requested, strict=False):
        for formula, style in ((requested[name], "-"), (unique[name], (0, (4, 2)))):
            left.plot(lengths, [formula(n, D) for n in lengths], color=colour, linestyle=style, linewidth=2.2)
            right.plot(widths, [formula(N, d) for d in widths], color=colour, linestyle=style, linewidth=2.2)
    for axes, at, name, fixed in (
        (left, lengths[::2], "sequence length N", f"D = {D:g}"),
        (right, 2.0 ** np.arange(4, 9), "head dimension D", f"N = {N:g}"),
    ):
        bare(axes)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(at, [f"{x:g}" for x in at])
        axes.set_xlabel(f"{name}   ({fixed})")
        _binary_ticks(axes)
        axes.minorticks_off()
        axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
    left.set_ylabel("bytes per head, forward and backward")
    handles = [
        left.plot([], [], color=colour, linestyle=style, linewidth=2.2)[0]
        for colour, _ in zip(COLOURS, requested, strict=False)
        for style in ("-", (0, (4, 2)))
    ]
    labels = [f"{name}, {kind}" for name in requested for kind in ("requested", "unique")]
    legend = figure.legend(
        handles, labels, loc="outside upper center", ncols=len(requested), frameon=False, fontsize=10.5
    )
    for text in legend.get_texts():
        text.set_color(GREY)
    description = "; ".join(
        f"{name}: {_size(requested[name](N, D))} requested, {_size(unique[name](N, D))} unique"
        for name in requested
    )
    return Picture(figure, f"At N = {N:g}, D = {D:g}, bytes per head: {description}.")


def _size(count: float) -> str:
    """Bytes rounded to three digits: 185 MiB."""
    unit = 1024 ** min(int(math.log(max(count, 1), 1024)), 4)
    return binary(float(f"{count / unit:.3g}") * unit)


def _binary_ticks(axes: Axes) -> None:
    low, high = (math.log2(v) for v in axes.get_ylim())
    powers = [p for p in range(0, 60, 2) if low <= p <= high]
    axes.set_yticks([2.0**p for p in powers], [binary(2.0**p) for p in powers])
    axes.yaxis.set_minor_formatter(NullFormatter())


def break_even(
    machines: Mapping[str, tuple[float, float, float]],
    size: int = 2,
    measured: Mapping[str, tuple[float, Mapping[int, float]]] | None = None,
) -> Picture:
    """Time per element of P over D: read from memory, or rebuilt, with and without the exponential.

    `machines`: bytes/s, operations/s of products, exponentials/s by name. `measured` adds, for a machine,
    the picoseconds per element read and per element rebuilt by D.
    """
    figure = Figure(figsize=(9.6, 2.9 * math.ceil(len(machines) / 2) + 0.7), layout="constrained")
    panels = np.atleast_1d(figure.subplots(math.ceil(len(machines) / 2), 2, sharex=True)).flatten()
    widths = np.linspace(16, 256, 61)
    descriptions = []
    for axes, (name, (bandwidth, products, exponentials)) in zip(panels, machines.items(), strict=False):
        bare(axes)
        read = 1e12 * size / bandwidth
        multiply = 1e12 * 2 * widths / products
        rebuild = multiply + 1e12 / exponentials
        axes.axhline(read, color=STORE, linewidth=2.2)
        axes.plot(widths, rebuild, color=REBUILD, linewidth=2.2)
        axes.plot(widths, multiply, color=REBUILD, linewidth=1.6, linestyle=(0, (4, 2)))
        even = products / 2 * (size / bandwidth - 1 / exponentials)
        if 16 <= even <= 256:
            axes.scatter([even], [read], s=52, color=GREY, zorder=3)
            beside, side = ((8, -15), "left") if name in (measured or {}) else ((-6, 8), "right")
            axes.annotate(
                f"D = {even:.0f}", (even, read), beside, textcoords="offset points",
                ha=side, color=GREY, fontsize=10.5,
            )  # fmt: skip
        top = max(read, rebuild[-1])
        if measured and name in measured:
            seen_read, seen = measured[name]
            axes.axhline(seen_read, color=STORE, linewidth=1.2, linestyle=":")
            axes.scatter(list(seen), list(seen.values()), color=REBUILD, s=34, marker="s", zorder=3)
            top = max(top, *seen.values())
        axes.set_ylim(0, 1.12 * top)
        axes.set_xticks([16, 64, 128, 192, 256])
        axes.set_title(name, color=GREY, fontsize=11.5)
        descriptions.append(f"{name}: reading takes {read:.2f} ps, break-even at D = {even:.0f}")
    for axes in panels[len(machines) :]:
        axes.set_axis_off()
    for axes in panels[-2:]:
        axes.set_xlabel("head dimension D")
    for axes in panels[::2]:
        axes.set_ylabel("ps per element of P")
    _legend(figure, panels[0], bool(measured))
    return Picture(figure, "; ".join(descriptions) + ".")


def _legend(figure: Figure, axes: Axes, measured: bool) -> None:
    entries = [
        ({"color": STORE, "linewidth": 2.2}, "read P"),
        ({"color": REBUILD, "linewidth": 2.2}, "rebuild P: product and exponential"),
        ({"color": REBUILD, "linewidth": 1.6, "linestyle": (0, (4, 2))}, "the product alone"),
    ]
    if measured:
        entries.append(({"color": REBUILD, "marker": "s", "linestyle": ""}, "rebuilt, measured"))
        entries.append(({"color": STORE, "linewidth": 1.2, "linestyle": ":"}, "read, measured"))
    handles = [axes.plot([], [], **look)[0] for look, _ in entries]
    legend = figure.legend(
        handles,
        [text for _, text in entries],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=10.5,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_color(GREY)
