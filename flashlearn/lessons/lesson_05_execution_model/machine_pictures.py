"""The pictures of lesson 05, first half: memory, threads and what they share, the chip, shuffles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell
from flashlearn.machine.device import GPU

LANES = {80: 64, 89: 128, 90: 128}
"""fp32 lanes per multiprocessor by compute capability: CUDA C++ Programming Guide, arithmetic throughput."""

SHARED_PER_CLOCK = 128
"""Bytes per clock and multiprocessor: 32 banks of 4 bytes (CUDA C++ Programming Guide, shared memory)."""

REGISTER_CLOCKS = 4
"""Clocks until a dependent multiply-add may start: Jia et al. 2018, arXiv 1804.06826, table 4.1."""

HBM_BYTES = {"A100": 80e9, "H100": 80e9, "RTX 4090": 24e9}
"""Capacity of device memory: the same data sheets as `device.GPUS`."""


@dataclass(frozen=True)
class Level:
    """One level of memory, over the whole chip: bytes, bytes/s, nanoseconds; None where nothing is known."""

    name: str
    reach: str
    capacity: float
    bandwidth: float | None
    latency: float | None


def clock(gpu: GPU) -> float:
    """Clocks per second that the data sheet's fp32 rate implies: two operations per lane and clock."""
    return gpu.fp32 / (2 * LANES[gpu.target] * gpu.sms)


def levels(gpu: GPU, measured: Mapping[str, Any]) -> list[Level]:
    """The levels of a GPU's memory, fastest first: capacities and peaks by its data sheet, the rest measured.

    Register bandwidth is what multiply-adds at full rate read, three operands of 4 bytes each.
    """
    latency, bandwidth = measured["latency"], measured["bandwidth"]
    return [
        Level(
            "registers", "one thread", gpu.sms * gpu.registers_per_sm * 4, gpu.fp32 / 2 * 12,
            1e9 * REGISTER_CLOCKS / clock(gpu),
        ),
        Level(
            "shared memory", "one block", gpu.sms * gpu.shared_per_sm,
            gpu.sms * SHARED_PER_CLOCK * clock(gpu), latency["shared"],
        ),
        Level("L2 cache", "all blocks", gpu.l2, bandwidth["L2"], latency["L2"]),
        Level("HBM", "all blocks", HBM_BYTES[gpu.name], gpu.bandwidth, latency["HBM"]),
    ]  # fmt: skip


def ladder(rows: Sequence[Level], title: str) -> Picture:
    """Capacity, bandwidth and latency of each level, as bars on three logarithmic scales."""
    figure = Figure(figsize=(9.6, 0.62 * len(rows) + 1.3), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    columns = (
        ("capacity", [r.capacity for r in rows], _binary, 1e6),
        ("bandwidth", [r.bandwidth for r in rows], lambda v: f"{v / 1e12:.3g} TB/s", 1e11),
        ("latency", [r.latency for r in rows], lambda v: f"{v:.3g} ns", 0.2),
    )
    for axes, (name, values, text, start) in zip(panels, columns, strict=True):
        bare(axes)
        axes.set_xscale("log")
        for y, value in enumerate(values):
            axes.barh(y, value - start, left=start, height=0.62, color=PALETTE[y])
            axes.text(value * 1.25, y, text(value), color=GREY, va="center", fontsize=10.5)
        axes.set_xlim(start, max(values) * 40)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xticks([])
        axes.minorticks_off()
        axes.set_xlabel(f"{name} (logarithmic)", color=GREY)
    panels[0].set_yticks(range(len(rows)), [f"{r.name}\n({r.reach})" for r in rows])
    figure.suptitle(title, color=GREY, fontsize=11.5)
    description = "; ".join(
        f"{r.name} {_binary(r.capacity)}, {r.bandwidth / 1e12:.3g} TB/s, {r.latency:.3g} ns" for r in rows
    )
    return Picture(figure, description)


def _binary(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:g} B"


NESTING = (
    ("grid", "all programs of one launch", "L2 and HBM", "end of the kernel"),
    ("cluster", "up to 8 blocks, one GPC (Hopper)", "each other's shared memory", "cluster barrier"),
    ("block = Triton program", "up to 1024 threads, one SM", "shared memory", "bar.sync"),
    ("warpgroup", "4 warps, one per scheduler (Hopper)", "a wgmma instruction", "wgmma.wait"),
    ("warp", "32 threads, one instruction", "registers, by shfl.sync", "bar.warp.sync"),
    ("thread", "a lane", "nothing; ≤ 255 registers of its own", "—"),
)
"""From outside in: name, what it is, what its members share, what makes them wait for each other."""


def nesting() -> Picture:
    """Grid, cluster, block, warpgroup, warp, thread as boxes in boxes, with what each shares."""
    figure, (axes,) = canvas(9.6, 4.0)
    for depth, (name, what, shares, waits) in enumerate(NESTING):
        left, low, height = 0.12 * depth, 0.2 * depth, 6.2 - 0.85 * depth
        colour = PALETTE[depth]
        axes.add_patch(
            Rectangle((left, low), 10 - 2 * left, height, fill=False, edgecolor=colour, linewidth=1.8)
        )
        top = low + height - 0.32
        axes.text(left + 0.12, top, name, color=colour, weight="bold", fontsize=10.5, va="center")
        for x, text in ((2.45, what), (5.3, shares), (8.1, waits)):
            axes.text(x, top, text, color=GREY, fontsize=9.8, va="center")
    for x, text in ((0.12, "who"), (2.45, "what it is"), (5.3, "what it shares"), (8.1, "how it waits")):
        axes.text(x, 6.5, text, color=GREY, fontsize=10, style="italic", va="center")
    axes.set_xlim(-0.05, 10.05)
    axes.set_ylim(-0.1, 6.8)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("each box is one of many inside the box around it")
    description = "; ".join(f"{n} ({w}): shares {s}, waits by {b}" for n, w, s, b in NESTING)
    return Picture(figure, description)


def chip(gpu: GPU, gpcs: int, per_gpc: int) -> Picture:
    """An outline of the chip: GPCs of multiprocessors, the two halves of L2, and HBM on either side."""
    figure, (axes,) = canvas(9.6, 4.0)
    width = 9.0 / (gpcs // 2)
    switched_off = gpcs * per_gpc - gpu.sms
    for g in range(gpcs):
        x, upper = 0.5 + (g % (gpcs // 2)) * width, g < gpcs // 2
        low = 3.35 if upper else 0.25
        axes.add_patch(Rectangle((x + 0.08, low), width - 0.16, 1.5, fill=False, edgecolor=GREY, linewidth=1))
        _multiprocessors(axes, x + 0.16, low + 0.08, width - 0.32, per_gpc)
        axes.text(
            x + width / 2,
            low + 1.36,
            f"GPC {g}: {per_gpc} SMs",
            color=GREY,
            fontsize=9,
            ha="center",
            va="center",
        )
    for left, name in (
        (0.58, "half of L2: caches for the GPCs on this side"),
        (5.08, "the other half: caches for those on that side"),
    ):
        axes.add_patch(Rectangle((left, 2.0), 4.34, 1.1, facecolor=PALETTE[2], edgecolor="none"))
        axes.text(
            left + 2.17, 2.55, name, color=ON_COLOUR, fontsize=9.5, ha="center", va="center", weight="bold"
        )
    axes.add_patch(FancyArrowPatch((4.9, 2.55), (5.1, 2.55), arrowstyle="<->", color=GREY, mutation_scale=12))
    for x in (0.05, 9.55):
        axes.add_patch(Rectangle((x, 0.6), 0.4, 3.9, facecolor=PALETTE[1], edgecolor="none"))
        axes.text(x + 0.2, 2.55, "HBM", color=ON_COLOUR, rotation=90, ha="center", va="center", weight="bold")
    axes.set_xlim(0, 10)
    axes.set_ylim(0.1, 5.0)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(
        f"GH100: {gpcs * per_gpc} SMs on the chip, {gpu.sms} of them enabled in an {gpu.name} "
        f"({switched_off} are off, not the same ones in every chip)"
    )
    return Picture(
        figure, f"{gpcs} GPCs of {per_gpc} SMs, {gpu.sms} enabled, around an L2 in two halves, HBM outside."
    )


def _multiprocessors(axes: Axes, x: float, y: float, width: float, count: int) -> None:
    columns = -(-count // 2)
    step = width / columns
    for i in range(count):
        at = (x + (i % columns) * step + 0.02, y + (i // columns) * 0.58)
        axes.add_patch(Rectangle(at, step - 0.04, 0.5, facecolor=PALETTE[0], edgecolor="none"))


def butterfly(values: Sequence[float]) -> Picture:
    """A sum over the lanes of a warp by shuffles: each step adds the value of a lane half as far away."""
    lanes = [float(v) for v in values]
    rows = [lanes]
    distance = len(lanes) // 2
    steps = []
    while distance:
        rows.append([rows[-1][i] + rows[-1][i ^ distance] for i in range(len(lanes))])
        steps.append(distance)
        distance //= 2
    figure, (axes,) = canvas(0.95 * len(lanes) + 2.6, 1.15 * len(rows) + 0.5)
    for level, row in enumerate(rows):
        for lane, value in enumerate(row):
            cell(axes, lane, 2 * level, f"{value:g}", PALETTE[level % len(PALETTE)])
            if level:
                for source in (lane, lane ^ steps[level - 1]):
                    axes.plot(
                        [source + 0.5, lane + 0.5],
                        [2 * level - 1.04, 2 * level + 0.04],
                        color=GREY,
                        linewidth=0.9,
                    )
    for level, distance in enumerate(steps):
        axes.text(
            len(lanes) + 0.2,
            2 * level + 1.5,
            f"shfl.sync.bfly {distance}, add",
            color=GREY,
            va="center",
            fontsize=10,
        )
    axes.set_xlim(-0.1, len(lanes) + 2.6)
    axes.set_ylim(2 * len(rows) - 0.8, -0.2)
    axes.set_xticks([i + 0.5 for i in range(len(lanes))], [str(i) for i in range(len(lanes))])
    axes.set_yticks([])
    axes.set_xlabel("lane (eight of a warp's 32)" if len(lanes) == 8 else "lane")
    return Picture(
        figure, f"{len(lanes)} lanes sum in {len(steps)} shuffles; every lane ends with {rows[-1][0]:g}."
    )
