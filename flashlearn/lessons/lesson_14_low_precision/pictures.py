"""The pictures of lesson 14: bits, the numbers that eight of them make, registers, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from flashlearn.lessons.lesson_14_low_precision.eight_bits import E4M3, E5M2, Format, numbers, parts
from flashlearn.lessons.lesson_14_low_precision.orders import thread_at, thread_with
from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, canvas, cell

ROLES = {"sign": PALETTE[1], "exponent": PALETTE[0], "fraction": PALETTE[2]}
KNOWN = {"e4m3": E4M3, "e5m2": E5M2}


def bits(value: float) -> Picture:
    """How e4m3 and e5m2 store what is nearest to a value: their bits, and the number they stand for."""
    figure, (axes,) = canvas(6.4, 2.3)
    captions = []
    for row, of in enumerate((E4M3, E5M2)):
        stored = int(torch.tensor([value]).to(of.dtype).view(torch.uint8))
        number = parts(stored, of)
        text = f"{stored:08b}"
        for place, bit in enumerate(text):
            role = "sign" if place == 0 else "fraction" if place >= 8 - of.fraction else "exponent"
            cell(axes, place, 1.6 * row, bit, ROLES[role])
        axes.text(-0.2, 1.6 * row + 0.5, of.name, ha="right", va="center", color=GREY, fontsize=11)
        meaning = f"= {number.value:g}"
        axes.text(8.2, 1.6 * row + 0.5, meaning, va="center", color=GREY, fontsize=11)
        captions.append(f"{of.name} {text} {meaning}")
    for number, (role, colour) in enumerate(ROLES.items()):
        axes.text(0.1 + 2.6 * number, 3.1, role, color=colour, fontsize=10, va="center")
    axes.set(xlim=(-1.3, 10.6), ylim=(3.5, -0.2), xticks=[], yticks=[], aspect="equal")
    return Picture(figure, f"The bits of {value:g}: {'; '.join(captions)}.")


def ladders(reach: float = 20.0) -> Picture:
    """Where the numbers of both formats lie between 0 and `reach`: steps double with every power of two."""
    figure, (axes,) = canvas(7.2, 1.8)
    captions = []
    for row, of in enumerate((E4M3, E5M2)):
        found = numbers(of)
        inside = found[found <= reach]
        axes.plot(inside, [row] * len(inside), "|", color=PALETTE[row], markersize=22, markeredgewidth=1.3)
        captions.append(f"{of.name} has {len(inside)}")
    axes.set(ylim=(1.6, -0.6), yticks=[0, 1], yticklabels=["e4m3", "e5m2"], xlabel="value")
    return Picture(figure, f"Numbers from 0 to {reach:g}: {', '.join(captions)}.")


def relative_errors(formats: Mapping[str, Format] = KNOWN) -> Picture:
    """The relative error of rounding, over magnitudes: flat where numbers are normal, and then it grows."""
    figure, (axes,) = canvas(7.2, 2.8)
    x = torch.logspace(-16, 10, 2600, base=2.0, dtype=torch.float64)
    captions = []
    for colour, (name, of) in zip(PALETTE, formats.items(), strict=False):
        top = float(torch.finfo(of.dtype).max)
        rounded = x.clamp(max=top).float().to(of.dtype).double()
        worst = ((rounded - x).abs() / x).reshape(-1, 50).amax(1)
        axes.plot(x.reshape(-1, 50)[:, 25], worst, color=colour, label=name)
        inside = x < top
        captions.append(
            f"{name} errs by {float(((rounded - x).abs() / x)[inside & (x >= 1)].max()):.3f} at most"
        )
    axes.set(xscale="log", yscale="log", xlabel="magnitude", ylabel="largest relative error")
    axes.set_xscale("log", base=2)
    axes.legend(frameon=False, labelcolor=GREY)
    return Picture(
        figure, f"Relative error of rounding; between 1 and the largest number {'; '.join(captions)}."
    )


def registers(order: Sequence[int] = ()) -> Picture:
    """Which thread of four holds which of 16 keys of P: left by a product, and wanted of an operand.

    With an `order`, the keys at the 16 places are drawn below, in the colour of the thread that holds them.
    """
    figure, (axes,) = canvas(8.2, 2.6 if order else 1.9)
    rows = [
        ("keys left by S = Q Kᵀ", range(16), [thread_with(key) for key in range(16)]),
        ("places wanted for P V", range(16), [thread_at(place) for place in range(16)]),
    ]
    caption = (
        "Sixteen keys of one row of P, coloured by thread. A product leaves each thread two pairs that lie "
        "eight apart; an operand has four places in a row"
    )
    if order:
        rows.append(("keys in your order", order, [thread_with(key) for key in order]))
        caption += f"; in this order the places hold the keys {list(order)}"
    for row, (name, shown, threads) in enumerate(rows):
        for place, (number, thread) in enumerate(zip(shown, threads, strict=True)):
            cell(axes, place, 1.5 * row, str(number), PALETTE[thread])
        axes.text(-0.3, 1.5 * row + 0.5, name, ha="right", va="center", color=GREY, fontsize=10)
    axes.set(xlim=(-5.2, 16.2), ylim=(1.5 * len(rows) - 0.3, -0.2), xticks=[], yticks=[], aspect="equal")
    return Picture(figure, f"{caption}.")


def outliers(before: Tensor, after: Tensor) -> Picture:
    """The largest magnitude of every column, before and after a rotation."""
    figure, panels = canvas(7.2, 3.2, rows=2, sharex=True)
    tops = [x.abs().amax(0) for x in (before, after)]
    for axes, top, name in zip(panels, tops, ("as it comes", "rotated"), strict=True):
        axes.bar(range(len(top)), top, color=PALETTE[0], width=0.8)
        axes.set_ylabel(f"largest,\n{name}")
    panels[-1].set_xlabel("column")
    caption = " and ".join(f"{float(top.max()):.1f}" for top in tops)
    return Picture(figure, f"Largest magnitude by column, before and after rotation: at most {caption}.")


def errors(found: Mapping[str, Mapping[str, float]]) -> Picture:
    """Relative rms errors, a bar for each way of computing, a colour for each kind of data."""
    ways = list(found)
    figure, (axes,) = canvas(7.6, 0.5 + 0.55 * len(ways))
    kinds = list(next(iter(found.values())))
    for number, kind in enumerate(kinds):
        places = [row + 0.26 * (number - (len(kinds) - 1) / 2) for row in range(len(ways))]
        axes.barh(places, [found[way][kind] for way in ways], height=0.24, color=PALETTE[number], label=kind)
    axes.set(yticks=range(len(ways)), xscale="log", xlabel="relative rms error of O (log scale)")
    axes.set_yticks(range(len(ways)), ways)
    axes.invert_yaxis()
    axes.legend(frameon=False, labelcolor=GREY, loc="center left", bbox_to_anchor=(1, 0.5))
    caption = "; ".join(
        f"{way}: " + ", ".join(f"{value:.1e} {kind}" for kind, value in of.items())
        for way, of in found.items()
    )
    return Picture(figure, f"Relative rms error of O. {caption}.")


def accumulators(found: Mapping[str, Mapping[int, float]]) -> Picture:
    """Relative errors of long sums, over their length, a line for each way of summing."""
    figure, (axes,) = canvas(7.2, 2.8)
    for colour, (way, by_length) in zip(PALETTE, found.items(), strict=False):
        axes.plot(list(by_length), list(by_length.values()), "o-", color=colour, label=way)
    axes.set(xscale="log", yscale="log", xlabel="products in the sum", ylabel="relative rms error")
    axes.set_xscale("log", base=2)
    axes.legend(frameon=False, labelcolor=GREY, loc="center left", bbox_to_anchor=(1, 0.5))
    longest = {way: list(of.values())[-1] for way, of in found.items()}
    caption = ", ".join(f"{way} {value:.1e}" for way, value in longest.items())
    return Picture(figure, f"Relative error of a long sum; of the longest one: {caption}.")
