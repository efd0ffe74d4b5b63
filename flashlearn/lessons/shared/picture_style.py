"""One look for all pictures: a transparent ground, mid-tone colours, grey text.

Every colour here has a contrast of at least 4:1 against white and against JupyterLab's dark ground
(#111111), and white text on it at least 4:1, so one picture serves both themes.
"""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

GREY = "#797979"
PALETTE = ("#3a78c9", "#b8602a", "#11857a", "#b6509a", "#6d7f1f", "#8067c8")
ON_COLOUR = "#ffffff"
DOTS_PER_INCH = 192  # twice a screen's 96: shown at half its pixels, sharp on dense displays too


@dataclass(frozen=True)
class Picture:
    """A figure that Jupyter shows once, at a fixed width, on whatever ground the theme has.

    `description` is what the picture says, for a terminal and for those who do not see it.
    """

    figure: Figure
    description: str

    def __repr__(self) -> str:
        return f"Picture: {self.description}"

    def png(self) -> bytes:
        """The picture as PNG with a transparent ground."""
        buffer = io.BytesIO()
        self.figure.savefig(
            buffer, format="png", dpi=DOTS_PER_INCH, transparent=True, bbox_inches="tight", pad_inches=0.06
        )
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """As HTML: JupyterLab gives a bare PNG no alternative text."""
        return {"text/html": self.element(), "text/plain": repr(self)}, {}

    def element(self) -> str:
        """The picture as an element of a page."""
        png = self.png()
        width, height = (int.from_bytes(png[at : at + 4], "big") // 2 for at in (16, 20))  # PNG header
        source = base64.b64encode(png).decode()
        return (
            f'<img width="{width}" height="{height}" alt="{html.escape(self.description)}" '
            f'style="height:auto" src="data:image/png;base64,{source}">'
        )


def canvas(width: float, height: float, rows: int = 1, **options) -> tuple[Figure, list[Axes]]:
    """A figure of `width` × `height` inches with `rows` bare axes under one another."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, 1, squeeze=False, **options)[:, 0]
    for one in axes:
        bare(one)
    return figure, list(axes)


def bare(axes: Axes) -> None:
    """Grey text and ticks, no frame, no filled background."""
    axes.patch.set_alpha(0.0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=GREY, labelsize=10, length=0)
    for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label.set_color(GREY)
        label.set_size(11)


def cell(
    axes: Axes, x: float, y: float, text: str = "", colour: str | None = None, ghost: bool = False
) -> None:
    """One square of a vector or matrix at (x, y): filled, empty, or a dashed ghost that does not exist."""
    box = Rectangle(
        (x + 0.04, y + 0.06),
        0.92,
        0.88,
        facecolor=colour or "none",
        edgecolor=colour or GREY,
        linestyle=(0, (3, 2)) if ghost else "-",
        linewidth=1.2,
    )
    axes.add_patch(box)
    ink = ON_COLOUR if colour else GREY
    weight = "bold" if colour else "normal"
    axes.text(
        x + 0.5, y + 0.5, text, ha="center", va="center_baseline", color=ink, fontsize=10.5, weight=weight
    )


def colour_of(number: int) -> str:
    """The colour of a program or row by its number; colours repeat after six."""
    return PALETTE[number % len(PALETTE)]
