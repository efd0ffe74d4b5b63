"""The pictures of lesson 09: layouts in memory, what is kept, finite differences, curves and their gap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from torch import Tensor

from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, bare, canvas, cell, colour_of


def layouts(views: Mapping[str, Tensor]) -> Picture:
    """Where the elements of small tensors [1, H, S, D] lie in memory: one strip each, coloured by head.

    A cell says "s d"; a dashed cell belongs to the buffer and not to the tensor.
    """
    length = max(view.untyped_storage().nbytes() // view.element_size() for view in views.values())
    figure, (axes,) = canvas(0.52 * length + 2.4, 1.0 * len(views) + 0.4)
    for y, (name, view) in enumerate(views.items()):
        _strip(axes, y * 1.75, name, view)
    axes.set_xlim(-0.1, length + 0.1)
    axes.set_ylim(1.75 * len(views) - 0.6, -0.75)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    text = "; ".join(f"{name}: strides {tuple(view.stride())}" for name, view in views.items())
    return Picture(figure, f"Memory from left to right, coloured by head. {text}.")


def _strip(axes, y: float, name: str, view: Tensor) -> None:
    owners: dict[int, list[tuple[int, int, int]]] = {}
    _, H, S, D = view.shape
    for h in range(H):
        for s in range(S):
            for d in range(D):
                at = view.storage_offset() + h * view.stride(1) + s * view.stride(2) + d * view.stride(3)
                owners.setdefault(at, []).append((h, s, d))
    for at in range(view.untyped_storage().nbytes() // view.element_size()):
        mine = owners.get(at, [])
        text = f"{mine[0][1]} {mine[0][2]}" if mine else ""
        colour = None if not mine else colour_of(mine[0][0]) if len(mine) == 1 else PALETTE[3]
        cell(axes, at, y, text, colour, ghost=not mine)
    shared = " (one cell serves all heads)" if any(len(mine) > 1 for mine in owners.values()) else ""
    label = f"{name}: strides {tuple(view.stride())}{shared}"
    axes.text(0, y - 0.16, label, color=GREY, fontsize=10.5, va="bottom")


def kept(B: int = 32, H: int = 8, D: int = 64, size: int = 2) -> Picture:
    """Bytes that one attention keeps for its backward pass over S: with P, and with O and LSE instead."""
    lengths = [2.0**e for e in range(7, 16)]
    figure, (axes,) = canvas(8.2, 3.9)
    rows = [B * H * S * (4 * D * size + 4) for S in lengths]
    square = [B * H * (3 * S * D * size + S * S * size) for S in lengths]
    for label, values, colour, offset, side in (
        ("Q, K, V and P", square, PALETTE[1], (-10, 8), "right"),
        ("Q, K, V, O and LSE", rows, PALETTE[0], (10, -16), "left"),
    ):
        axes.plot(lengths, values, color=colour, linewidth=2.4)
        axes.annotate(
            label, (lengths[5], values[5]), textcoords="offset points", xytext=offset, ha=side,
            color=colour, fontsize=11, weight="bold",
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(lengths[::2], [f"{int(S)}" for S in lengths[::2]])
    axes.set_yticks([2.0**20, 2.0**30, 2.0**40], ["1 MiB", "1 GiB", "1 TiB"])
    axes.minorticks_off()
    axes.grid(axis="y", color=GREY, alpha=0.25)
    axes.set_xlabel(f"S (B {B}, H {H}, D {D}, {8 * size} bits per number)")
    axes.set_ylabel("kept for the backward pass")
    ratio = square[lengths.index(1024.0)] / rows[lengths.index(1024.0)]
    return Picture(figure, f"At S = 1024, keeping P takes {ratio:.1f} times the bytes of keeping O and LSE.")


def finite_differences(
    steps: Sequence[float], errors: Mapping[str, Sequence[float]], best: Mapping[str, float]
) -> Picture:
    """Relative error of central differences over their step h; dashed: the error of the gradient itself."""
    figure, (axes,) = canvas(8.2, 4.3)
    for number, (name, values) in enumerate(errors.items()):
        colour = colour_of(number)
        shown = [max(value, 1e-17) for value in values]
        label = f"{name}: {min(shown):.0e} at best"
        axes.plot(steps, shown, color=colour, linewidth=2.2, marker="o", markersize=4, label=label)
        if name in best:
            axes.axhline(best[name], color=colour, linewidth=1.2, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.grid(color=GREY, alpha=0.2)
    axes.set_xlabel("step h of (L(x + h u) − L(x − h u)) / 2h   ·   dashed: the error of the gradient itself")
    axes.set_ylabel("relative error")
    axes.legend(frameon=False, labelcolor="linecolor", fontsize=10.5, loc="lower right")
    text = "; ".join(f"{name} at best {min(values):.0e}" for name, values in errors.items())
    return Picture(figure, f"Relative error of finite differences: {text}.")


def loss_curves(
    sdpa: Sequence[float],
    yours: Sequence[float],
    without: Sequence[float] | None = None,
    bound: float | None = None,
) -> Picture:
    """Above: two runs' losses over the steps, and without attention. Below: how far the two are apart."""
    gaps = [abs(a - b) for a, b in zip(sdpa, yours, strict=True)]
    figure = Figure(figsize=(8.6, 5.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for axes in (above, below):
        bare(axes)
        axes.grid(axis="y", color=GREY, alpha=0.25)
    x = range(len(sdpa))
    if without is not None:
        above.plot(x, without, color=GREY, linewidth=1.0, linestyle=":", label="without attention (O = 0)")
    above.plot(x, sdpa, color=PALETTE[1], linewidth=5, alpha=0.55, label="torch's SDPA")
    above.plot(x, yours, color=PALETTE[0], linewidth=1.4, label="your attention")
    above.legend(frameon=False, labelcolor=GREY, fontsize=10.5)
    above.set_ylabel("loss (nats per character)")
    largest = max(range(len(gaps)), key=gaps.__getitem__)
    floor = max(min((gap for gap in gaps if gap > 0), default=1e-7), 1e-9)
    below.plot(x, [max(gap, floor) for gap in gaps], color=PALETTE[2], linewidth=1.4)
    below.scatter([largest], [max(gaps[largest], floor)], color=PALETTE[2], s=36, zorder=3)
    below.annotate(
        f"largest gap {gaps[largest]:.1e}, at step {largest}", (largest, max(gaps[largest], floor)),
        xytext=(0, 9), textcoords="offset points", color=PALETTE[2], fontsize=10.5, weight="bold",
        ha="right" if largest > len(gaps) / 2 else "left",
    )  # fmt: skip
    if bound is not None:
        below.axhline(bound, color=GREY, linewidth=1.2, linestyle="--")
        below.text(0, bound * 1.3, f"asserted: below {bound:.2g}", color=GREY, fontsize=10)
    below.set_yscale("log")
    below.minorticks_off()
    top = max(gaps[largest], bound or 0.0, floor)
    below.set_ylim(floor / 2, 10 ** (math.log10(top) + 1))
    below.set_ylabel("|difference|")
    below.set_xlabel("step")
    text = f"loss from {sdpa[0]:.2f} to {sdpa[-1]:.2f}; largest gap {gaps[largest]:.1e} at step {largest}"
    return Picture(figure, f"Loss curves with SDPA and with your attention: {text}.")
