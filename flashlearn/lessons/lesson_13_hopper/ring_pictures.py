"""Pictures of sittings 1, 4 and 5: what is on its way, slots and phases of a ring, operands of a product."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, canvas, cell, colour_of
from flashlearn.machine.device import GPUS, KIB

LATENCY = 340e-9
"""Seconds that one load from HBM takes: lesson 05's chase on an H200."""
TILES = 12


def under_way(tile: int) -> Picture:
    """The share of HBM's bandwidth that an SM gets with a number of tiles of `tile` KiB in flight."""
    gpu = GPUS["H100"]
    needed = gpu.bandwidth * LATENCY / gpu.sms / KIB
    counts = range(1, 9)
    shares = [min(1.0, n * tile / needed) for n in counts]
    figure, (axes,) = canvas(6.4, 2.6)
    axes.bar(counts, [100 * share for share in shares], color=PALETTE[0], width=0.6)
    axes.set(
        xlabel=f"tiles of {tile} KiB on their way to an SM", ylabel="% of its share of HBM", ylim=(0, 105)
    )
    axes.set_xticks(list(counts))
    return Picture(
        figure,
        f"With tiles of {tile} KiB and {needed:.1f} KiB needed on their way, one tile gets "
        f"{shares[0]:.0%} of an SM's share of the bandwidth, two get {shares[1]:.0%}.",
    )


def turns(stages: int) -> Picture:
    """Which slot each of 12 tiles lies in, in the colour of its turn, with the parity of its phase."""
    figure, (axes,) = canvas(7.2, 0.9 + 0.5 * stages)
    for tile in range(TILES):
        turn = tile // stages
        cell(axes, tile, tile % stages, str(turn % 2), colour_of(turn))
    axes.set(xlim=(-0.2, TILES + 0.2), ylim=(stages + 0.1, -0.1), aspect="equal", xlabel="tile")
    axes.set_xticks([tile + 0.5 for tile in range(TILES)], [str(tile) for tile in range(TILES)])
    axes.set_yticks([slot + 0.5 for slot in range(stages)], [f"slot {slot}" for slot in range(stages)])
    parities = " ".join(str(tile // stages % 2) for tile in range(TILES))
    return Picture(figure, f"A ring of {stages} slots: tiles 0 to 11 complete phases of parity {parities}.")


def operands() -> Picture:
    """Who holds what of a product of 64 × 64 by 64 × 128: a and b in shared memory, sums in four warps."""
    figure, (axes,) = canvas(7.4, 3.6)
    _block(axes, 0, 0, 4, 4, "a\n64 × 64", None)
    _block(axes, 5, -5, 10, 4, "b   64 × 128", None)
    for warp in range(4):
        _block(axes, 5, warp, 10, 1, f"sums: 16 rows of warp {warp}", PALETTE[warp])
    axes.text(
        0, -3, "dashed: in shared\nmemory, read by\nthe tensor core", color=GREY, fontsize=10, va="center"
    )
    axes.text(15.5, 2, "coloured: in\nregisters", color=GREY, fontsize=10, va="center")
    axes.set(xlim=(-0.3, 18.6), ylim=(4.3, -5.3), xticks=[], yticks=[], aspect="equal")
    return Picture(
        figure,
        "A warpgroup multiplies a tile a of 64 × 64 with a tile b of 64 × 128, both in shared memory; each "
        "of its four warps holds 16 rows of the sums in registers.",
    )


def _block(axes, x: float, y: float, width: float, height: float, text: str, colour: str | None) -> None:
    dashes = "-" if colour else (0, (3, 2))
    axes.add_patch(
        Rectangle(
            (x, y + 0.05),
            width,
            height - 0.1,
            facecolor=colour or "none",
            edgecolor=colour or GREY,
            linestyle=dashes,
            linewidth=1.2,
        )
    )
    ink = "#ffffff" if colour else GREY
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", color=ink, fontsize=10)
