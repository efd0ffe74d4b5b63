"""The pictures of lesson 12: which tiles need a mask, who works when, what each rung brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from flashlearn.lessons.lesson_12_tuning import record
from flashlearn.lessons.lesson_12_tuning.planning import makespan
from flashlearn.lessons.lesson_12_tuning.record import Record
from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell


def split_tiles(bounds: Any, S_q: int, S_k: int, block_q: int, block_k: int) -> Picture:
    """The tiles of S by the loop that visits them; `bounds(first, block_q, block_k, S_q, S_k)`."""
    rows, columns = -(-S_q // block_q), -(-S_k // block_k)
    figure, (axes,) = canvas(0.5 * columns + 2.6, 0.5 * rows + 0.9)
    counted = {"no mask": 0, "masked": 0, "not visited": 0}
    for i in range(rows):
        whole, end = (int(n) for n in bounds(i * block_q, block_q, block_k, S_q, S_k))
        for j in range(columns):
            start = j * block_k
            kind = "no mask" if start < whole else "masked" if start < end else "not visited"
            counted[kind] += 1
            colour = {"no mask": PALETTE[0], "masked": PALETTE[1], "not visited": None}[kind]
            cell(axes, j, i, "", colour, ghost=kind == "not visited")
    axes.set(xlim=(-0.2, columns + 0.2), ylim=(rows + 0.2, -0.2), xticks=[], yticks=[], aspect="equal")
    axes.set_xlabel(f"keys, {S_k} in tiles of {block_k}")
    axes.set_ylabel(f"queries, {S_q} in blocks of {block_q}")
    for kind, colour in (("no mask", PALETTE[0]), ("masked", PALETTE[1])):
        axes.plot([], [], "s", color=colour, label=f"{kind}: {counted[kind]}")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, labelcolor=GREY)
    caption = ", ".join(f"{number} {kind}" for kind, number in counted.items())
    return Picture(figure, f"Tiles of a causal pass over {S_q} queries and {S_k} keys: {caption}.")


def schedule(works: Mapping[str, Sequence[int]], machines: int) -> Picture:
    """Who works when: for each order of the programs a row of multiprocessors each, with its end."""
    figure = Figure(figsize=(8, 2.5 * len(works)), layout="constrained")
    panels = figure.subplots(len(works), 1, squeeze=False, sharex=True)[:, 0]
    captions = []
    least = sum(next(iter(works.values()))) / machines
    heaviest = max(max(work) for work in works.values())
    for axes, (name, work) in zip(panels, works.items(), strict=True):
        bare(axes)
        end, pieces = makespan(work, machines)
        shades = [PALETTE[0] if b - a > heaviest / 2 else PALETTE[2] for _, a, b in pieces]
        axes.barh(
            [machine for machine, _, _ in pieces],
            [0.94 * (b - a) for _, a, b in pieces],
            left=[a for _, a, _ in pieces],
            height=1.0,
            color=shades,
        )
        axes.axvline(least, color=GREY, linewidth=1, linestyle=(0, (3, 2)))
        axes.set_title(f"{name}: done after {end:.0f}, {end / least:.2f} times the least")
        axes.set_ylabel("multiprocessor")
        captions.append(f"{name} ends after {end:.0f}")
    panels[-1].set_xlabel("time, in tiles of keys (dashed: all work shared out evenly)")
    return Picture(figure, f"{machines} multiprocessors: {'; '.join(captions)}; evenly shared, {least:.0f}.")


def climbed(found: Record, direction: str = "forward") -> Picture:
    """TFLOP/s of each rung for each D and mask, with the factor over what it was tried on."""
    names = record.names(found, direction)
    figure = Figure(figsize=(9, 1.4 + 0.62 * len(names)), layout="constrained")
    panels = figure.subplots(2, 2, squeeze=False, sharey=True).flat
    captions = []
    for axes, (D, causal) in zip(panels, record.CORNERS, strict=True):
        bare(axes)
        title = f"{direction}, D {D}, {'causal' if causal else 'full'}"
        fast = record.rates(found, direction, D, causal)
        gained = {
            name: gain
            for name in names
            for gain in record.gains(found, name, direction)
            if (gain.D, gain.causal) == (D, causal)
        }
        lost = [name in gained and gained[name].verdict != "gain" for name in fast]
        axes.barh(list(fast), list(fast.values()), color=[PALETTE[1] if no else PALETTE[0] for no in lost])
        for name, rate in fast.items():
            text = f"× {gained[name].factor:.2f}" if name in gained else f"{rate:.0f}"
            axes.text(0.97 * rate, name, text, ha="right", va="center", color=ON_COLOUR, fontsize=8)
        axes.set_title(title, fontsize=10)
        if fast:
            captions.append(f"{title} {', '.join(f'{name} {rate:.0f}' for name, rate in fast.items())}")
    for axes in figure.axes[2:]:
        axes.set_xlabel("TFLOP/s, bf16, mean over S")
    figure.axes[0].invert_yaxis()
    where = f"the {direction} pass on {found['device']}"
    return Picture(figure, f"TFLOP/s of the ladder of {where}: {'; '.join(captions)}.")
