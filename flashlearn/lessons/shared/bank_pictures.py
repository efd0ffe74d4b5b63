"""A tile in the banks of shared memory, by layout: lesson 05 draws words, lesson 13 pieces of 16 bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, bare, cell


def banks(layouts: Mapping[str, Callable[[int, int], int]], size: int = 8) -> Picture:
    """Tiles of `size` × `size` words by layout; a word's colour is its bank, of a memory with `size` banks.

    Each layout maps (row, column) to a word's address. Outlined: one column, read by one lane per row.
    """
    figure = Figure(figsize=(3.15 * len(layouts), 3.6), layout="constrained")
    panels = figure.subplots(1, len(layouts), squeeze=False)[0]
    descriptions = []
    for axes, (name, address) in zip(panels, layouts.items(), strict=True):
        bare(axes)
        for row in range(size):
            for column in range(size):
                bank = address(row, column) % size
                cell(axes, column, row, str(bank), _shade(bank / (size - 1)))
        axes.add_patch(Rectangle((0, 0), 1, size, fill=False, edgecolor=GREY, linewidth=2.6))
        ways = conflict(address, size)
        axes.set_title(name, color=GREY, fontsize=11)
        axes.set_xlabel(f"column 0 takes {ways} turn{'s' if ways > 1 else ''}", color=GREY)
        axes.set_aspect("equal")
        axes.set_xlim(-0.1, size + 0.1)
        axes.set_ylim(size + 0.1, -0.1)
        axes.set_xticks([])
        axes.set_yticks([])
        descriptions.append(f"{name}: {ways}")
    return Picture(figure, f"turns that reading column 0 takes, {size} banks: " + "; ".join(descriptions))


def _shade(share: float) -> str:
    """From the palette's blue to its orange, dark enough all the way for white digits."""
    blue, orange = np.array(to_rgb(PALETTE[0])), np.array(to_rgb(PALETTE[1]))
    return to_hex(blue + (orange - blue) * share)


def conflict(address: Callable[[int, int], int], size: int) -> int:
    """The number of words of column 0 in the fullest bank: the turns that one read takes."""
    in_bank = [address(row, 0) % size for row in range(size)]
    return max(map(in_bank.count, in_bank))
