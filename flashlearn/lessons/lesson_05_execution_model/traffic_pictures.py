"""The pictures of lesson 05, second half: sectors, banks, tiles, occupancy, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.bank_pictures import banks as banks
from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, canvas
from flashlearn.lessons.shared.slider import Slider, slider
from flashlearn.machine.device import GPU, occupancy

SECTOR, WARP = 32, 32


def sectors_of(stride: int, size: int = 4) -> int:
    """Sectors of 32 bytes that a warp's 32 loads touch, `stride` elements of `size` bytes apart."""
    return len({lane * stride * size // SECTOR for lane in range(WARP)})


def sectors(strides: Sequence[int] = (1, 2, 4, 8), size: int = 4) -> Picture:
    """What a warp asks for, and what travels: sectors fetched, and the bytes in them that a lane wants."""
    widest = max(sectors_of(s, size) for s in strides)
    figure, (axes,) = canvas(9.6, 0.7 * len(strides) + 1.0)
    for y, stride in enumerate(strides):
        count = sectors_of(stride, size)
        wanted = {lane * stride * size // size for lane in range(WARP)}
        per_sector = SECTOR // size
        first = sorted({i // per_sector for i in wanted})
        for x, sector in enumerate(first):
            axes.add_patch(
                Rectangle((x + 0.06, y - 0.3), 0.88, 0.6, fill=False, edgecolor=GREY, linewidth=0.9)
            )
            for k in range(per_sector):
                if sector * per_sector + k in wanted:
                    axes.add_patch(
                        Rectangle(
                            (x + 0.06 + 0.88 * k / per_sector, y - 0.3), 0.88 / per_sector, 0.6,
                            facecolor=PALETTE[0], edgecolor="none",
                        )
                    )  # fmt: skip
        useful = WARP * size / (count * SECTOR)
        axes.text(
            widest + 0.3, y, f"{count} sectors, {useful:.3g} useful", color=GREY, va="center", fontsize=10
        )
    axes.set_xlim(-0.1, widest + 9)
    axes.set_ylim(len(strides) - 0.4, -0.6)
    axes.set_yticks(range(len(strides)), [f"stride {s}" for s in strides])
    axes.set_xticks([])
    axes.set_xlabel(
        f"sectors of {SECTOR} bytes that one load of a warp touches ({size} bytes per lane); filled: wanted"
    )
    description = "; ".join(f"stride {s}: {sectors_of(s, size)} sectors" for s in strides)
    return Picture(figure, description)


def tiles(
    M: int, N: int, K: int, blocks: tuple[int, int, int], program: tuple[int, int, int], step: int
) -> Picture:
    """One program's tile of C, the strips of A and B it walks along, and the two tiles of one step."""
    BM, BN, BK = blocks
    figure, (axes,) = canvas(8.6, 8.6 * (M + K + 55) / (N + K + 62))
    gap = 20
    at_a, at_b, at_c = (0, K + gap), (K + gap, 0), (K + gap, K + gap)
    i, j = program[0] * BM, program[1] * BN
    _matrix(axes, at_a, M, K, "A", f"{M} × {K}")
    _matrix(axes, at_b, K, N, "B", f"{K} × {N}")
    _matrix(axes, at_c, M, N, "C", f"{M} × {N}")
    for edge in range(BN, N, BN):
        axes.plot([at_c[0] + edge] * 2, [at_c[1], at_c[1] + M], color=GREY, linewidth=0.7, linestyle=":")
    for edge in range(BM, M, BM):
        axes.plot([at_c[0], at_c[0] + N], [at_c[1] + edge] * 2, color=GREY, linewidth=0.7, linestyle=":")
    for (x, y), (w, h), colour, alpha in (
        ((at_a[0], at_a[1] + i), (K, min(BM, M - i)), PALETTE[0], 0.35),
        ((at_b[0] + j, at_b[1]), (min(BN, N - j), K), PALETTE[2], 0.35),
        ((at_a[0] + step * BK, at_a[1] + i), (min(BK, K - step * BK), min(BM, M - i)), PALETTE[0], 1.0),
        ((at_b[0] + j, at_b[1] + step * BK), (min(BN, N - j), min(BK, K - step * BK)), PALETTE[2], 1.0),
        ((at_c[0] + j, at_c[1] + i), (min(BN, N - j), min(BM, M - i)), PALETTE[1], 1.0),
    ):
        axes.add_patch(Rectangle((x, y), w, h, facecolor=colour, alpha=alpha, edgecolor="none"))
    for (x, y), (w, h) in (
        ((at_c[0] + j, at_c[1] + i), (BN, BM)),
        ((at_a[0] + step * BK, at_a[1] + i), (BK, BM)),
        ((at_b[0] + j, at_b[1] + step * BK), (BN, BK)),
    ):
        axes.add_patch(
            Rectangle((x, y), w, h, fill=False, edgecolor=GREY, linestyle=(0, (3, 2)), linewidth=1.2)
        )
    axes.set_aspect("equal")
    axes.set_xlim(-2, K + gap + N + 30)
    axes.set_ylim(K + gap + M + 22, -12)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(
        f"program {program}, step {step + 1} of {-(-K // BK)}: a {BM}×{BK} tile of A times a {BK}×{BN} "
        "tile of B; dashed: lanes, some of them masked"
    )
    programs = (-(-M // BM), -(-N // BN))
    return Picture(
        figure, f"{programs[0]} × {programs[1]} programs; program {program} scans K in {-(-K // BK)} steps."
    )


def _matrix(axes: Axes, at: tuple[int, int], rows: int, columns: int, name: str, text: str) -> None:
    axes.add_patch(Rectangle(at, columns, rows, fill=False, edgecolor=GREY, linewidth=1.4))
    axes.text(
        at[0] + columns / 2, at[1] - 3, f"{name}  {text}", color=GREY, ha="center", va="bottom", fontsize=10.5
    )


def roofline(
    gpu: GPU,
    points: Sequence[tuple[str, float, float, float | None]],
    l2: float | None = None,
    half: bool = True,
) -> Picture:
    """Attainable rate over arithmetic intensity, with kernels at requested and at unique bytes.

    A point is (name, intensity by requested bytes, by unique bytes, measured rate or None): where none was
    measured, it lies on the roof. `l2` draws a second slope for a cache of that bandwidth.
    """
    peak = gpu.half if half else gpu.fp32
    ridge = peak / gpu.bandwidth
    figure, (axes,) = canvas(9.2, 5.0)
    x = np.logspace(0, 4, 200)
    slopes = [(gpu.bandwidth, f"HBM, {gpu.bandwidth / 1e12:.3g} TB/s", "-", 0.55 if l2 else 1.35)]
    slopes += [(l2, f"L2, {l2 / 1e12:.3g} TB/s", ":", 1.35)] if l2 else []
    for bandwidth, text, style, beside in slopes:
        axes.plot(x, np.minimum(peak, x * bandwidth) / 1e12, color=GREY, linewidth=2.2, linestyle=style)
        at = (1.1, beside * 1.1 * bandwidth / 1e12)
        axes.text(*at, text, color=GREY, fontsize=10, rotation=30, rotation_mode="anchor")
    axes.text(
        x[-1],
        1.3 * peak / 1e12,
        f"{'tensor cores, 16 bit' if half else 'fp32'}: {peak / 1e12:.4g} TFLOP/s",
        color=GREY,
        ha="right",
        fontsize=10,
    )
    axes.plot([ridge, ridge], [1, peak / 1e12], color=GREY, linewidth=0.8, linestyle=":")
    axes.text(ridge * 1.08, 1.15, f"ridge: {ridge:.0f} FLOP/B", color=GREY, fontsize=10)
    for n, (name, requested, unique, measured) in enumerate(points):
        colour = PALETTE[n % len(PALETTE)]
        y = [(measured or min(peak, v * gpu.bandwidth)) / 1e12 for v in (requested, unique)]
        axes.plot([requested, unique], y, color=colour, linewidth=1, alpha=0.7)
        axes.scatter([requested], y[:1], s=64, color=colour, zorder=3)
        axes.scatter([unique], y[1:], s=64, facecolor="none", edgecolor=colour, linewidth=1.8, zorder=3)
        crowded = n and measured and measured < 1.15 * (points[n - 1][3] or 0)
        below = measured and measured < min(peak, requested * gpu.bandwidth)
        above = (-2, 20) if crowded else (-12, 6)  # off the slopes, and off the neighbour's label
        place = ((9, -3), "left", "top") if below else (above, "right", "bottom")
        axes.annotate(
            name, (requested, y[0]), place[0], textcoords="offset points", color=colour, fontsize=10,
            weight="bold", ha=place[1], va=place[2],
        )  # fmt: skip
    axes.scatter([], [], s=64, color=GREY, label="at requested bytes")
    axes.scatter([], [], s=64, facecolor="none", edgecolor=GREY, linewidth=1.8, label="at unique bytes")
    axes.legend(loc="lower right", frameon=False, labelcolor=GREY, fontsize=10)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1, 3 * peak / 1e12)
    axes.set_xlim(1, 1e4)
    axes.set_xlabel("arithmetic intensity (FLOP per byte)")
    axes.set_ylabel(f"TFLOP/s on an {gpu.name}")
    axes.grid(True, which="major", color=GREY, alpha=0.25, linewidth=0.6)
    description = "; ".join(f"{n}: {r:.3g} FLOP/B requested, {u:.4g} unique" for n, r, u, _ in points)
    return Picture(figure, f"ridge at {ridge:.0f} FLOP/B; {description}")


def resident(gpu: GPU, warps: int, shared: Sequence[int]) -> Picture:
    """Occupancy over registers per thread, for blocks of `warps` warps and several sizes of shared memory."""
    registers = np.arange(16, 256)
    figure, (axes,) = canvas(8.6, 3.7)
    for n, size in enumerate(shared):
        y = [100 * occupancy(gpu, int(r), size, warps) for r in registers]
        axes.step(registers, y, where="post", color=PALETTE[n], linewidth=2.2 - 0.3 * n)
        at = 17, y[0] + (-7 if n else 2)  # below a plateau there is room: more shared memory lies lower
        axes.text(*at, f"{size // 1024} KiB shared memory", color=PALETTE[n], fontsize=10, weight="bold")
    axes.axvline(255, color=GREY, linewidth=1, linestyle=":")
    axes.set_ylim(0, 108)
    axes.set_xlim(16, 262)
    axes.set_xticks([16, 32, 64, 96, 128, 168, 255])
    axes.set_xlabel(f"registers per thread ({warps} warps per block)")
    axes.set_ylabel(f"occupancy of an {gpu.name}, %")
    axes.grid(True, color=GREY, alpha=0.25, linewidth=0.6)
    full = {size: occupancy(gpu, 255, size, warps) for size in shared}
    return Picture(figure, "; ".join(f"{s // 1024} KiB, 255 registers: {v:.3g}" for s, v in full.items()))


def limits(gpu: GPU, warps: int, registers: int, shared: int) -> Picture:
    """How many blocks fit into one multiprocessor by each of the four limits; the smallest counts."""
    per_block = -(-registers // 8) * 8 * WARP * warps
    fit = {
        "warps": gpu.warps_per_sm // warps,
        "blocks": gpu.blocks_per_sm,
        "registers": gpu.registers_per_sm // per_block,
        "shared memory": gpu.shared_per_sm // (shared + 1024),
    }
    least = min(fit.values())
    figure, (axes,) = canvas(7.0, 2.5)
    for y, blocks in enumerate(fit.values()):
        axes.barh(y, min(blocks, 40), height=0.6, color=PALETTE[1] if blocks == least else PALETTE[0])
        text = f"{blocks}" if blocks <= 40 else f"{blocks} →"
        axes.text(min(blocks, 40) + 0.4, y, text, color=GREY, va="center", fontsize=11)
    axes.set_yticks(range(len(fit)), list(fit))
    axes.set_ylim(len(fit) - 0.5, -0.5)
    axes.set_xlim(0, 44)
    axes.set_xlabel(f"blocks of {warps} warps that fit into one SM of an {gpu.name}")
    share = least * warps / gpu.warps_per_sm
    axes.set_title(f"{least} resident: occupancy {share:.0%}", color=GREY, fontsize=12)
    narrow = " and ".join(name for name, blocks in fit.items() if blocks == least)
    return Picture(figure, f"{least} blocks are resident, occupancy {share:.0%}; the limit is {narrow}.")


def sliding_limits(gpu: GPU, warps: int) -> Slider:
    """The four limits, with registers per thread and KiB of shared memory per block to be moved."""
    return slider(
        lambda registers, KiB: limits(gpu, warps, registers, KiB * 1024),
        {"registers": 104, "KiB": 16},
        registers=(32, 64, 104, 128, 168, 255),
        KiB=(0, 16, 48, 96),
    )
