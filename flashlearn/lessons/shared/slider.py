"""A picture with sliders: drawn once for every value, switched by a few lines of script; else plain.

    >>> slider(lambda n: programs_over_vector(n, block=4), n=(4, 8, 10, 13))

Nothing is fetched and no kernel is asked: the pictures are in the output. Where scripts run (a notebook of
your own in JupyterLab, an exported page) the sliders move; where they do not (GitHub, a notebook that
someone else ran) there is the picture of the start values, with a line that says what could be moved.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from flashlearn.lessons.shared.picture_style import Picture

MAX_CHARACTERS = 300_000
"""Characters of an output: it is saved in the notebook."""

COLOURS = 48
DOTS_PER_INCH = 144  # a picture is shown at two thirds of its pixels
MAX_PICTURES = 40


@dataclass(frozen=True)
class Slider:
    """Pictures for all combinations of values, the last parameter's running fastest; `start` comes first."""

    parameters: Mapping[str, tuple[Any, ...]]
    frames: tuple[Frame, ...]
    start: int

    def __repr__(self) -> str:
        return f"Picture with sliders for {_listed(self.parameters)}: {self.frames[self.start].description}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """As HTML that needs no script to be read; the PNG is for what shows no HTML."""
        still = base64.b64encode(self.frames[self.start].png).decode()
        return {"text/html": self.page(), "image/png": still, "text/plain": repr(self)}, {}

    def page(self) -> str:
        """The whole as one element of a page."""
        first, values = self.frames[self.start], [list(map(_shown, v)) for v in self.parameters.values()]
        data = json.dumps(
            {
                "names": list(self.parameters),
                "values": values,
                "start": self.start,
                "frames": [[*frame.size, frame.description, frame.source()] for frame in self.frames],
            },
            separators=(",", ":"),
            ensure_ascii=False,
        ).replace("<", "\\u003c")
        identity = "fls" + hashlib.sha256(data.encode()).hexdigest()[:12]
        tallest = max(frame.size[1] for frame in self.frames)
        return (
            f'<div class="flashlearn-slider" data-slider="{identity}">'
            f'<div class="fls-stage"></div><div class="fls-picture" style="min-height: {tallest}px">'
            f'<img width="{first.size[0]}" height="{first.size[1]}" style="height:auto" '
            f'alt="{html.escape(first.description)}" src="data:image/png;base64,{first.source()}"></div>'
            f'<p class="fls-note"><i>{html.escape(self._note())}</i></p></div>'
            f"<script>\n(() => {{\nconst data = {data};\nconst id = {json.dumps(identity)};\n"
            f"{_script()}}})();\n</script>"
        )

    def _note(self) -> str:
        chosen = list(itertools.product(*self.parameters.values()))[self.start]
        shown = ", ".join(
            f"{name} = {_shown(value)}" for name, value in zip(self.parameters, chosen, strict=True)
        )
        return f"Shown for {shown}. Run the cell, and you can move {_listed(self.parameters)}."


@dataclass(frozen=True)
class Frame:
    """One picture as PNG, its size in a page, and what it says."""

    png: bytes
    size: tuple[int, int]
    description: str

    def source(self) -> str:
        return base64.b64encode(self.png).decode()


def slider(
    draw: Callable[..., Picture], start: Mapping[str, Any] | None = None, /, **parameters: Sequence[Any]
) -> Slider:
    """`draw(**values)` for every combination of the parameters' values; `start` has the values shown first.

    Raises ValueError for more pictures than an output should hold, or larger ones.
    """
    values = {name: tuple(some) for name, some in parameters.items()}
    every = list(itertools.product(*values.values()))
    if not 2 <= len(every) <= MAX_PICTURES:
        raise ValueError(f"{len(every)} pictures: 2 to {MAX_PICTURES} are worth a slider")
    begin = tuple({**{name: some[0] for name, some in values.items()}, **(start or {})}.values())
    made = Slider(
        values,
        tuple(_frame(draw(**dict(zip(values, chosen, strict=True)))) for chosen in every),
        every.index(begin),
    )
    if len(made.page()) > MAX_CHARACTERS:
        raise ValueError(
            f"{len(made.page())} characters: fewer values or smaller pictures, up to {MAX_CHARACTERS}"
        )
    return made


def _frame(picture: Picture) -> Frame:
    """The picture with few colours: flat drawings lose nothing, and take a third of the bytes."""
    from PIL import Image

    buffer, small = io.BytesIO(), io.BytesIO()
    picture.figure.savefig(
        buffer, format="png", dpi=DOTS_PER_INCH, transparent=True, bbox_inches="tight", pad_inches=0.06
    )
    drawn = Image.open(buffer).convert("RGBA").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    drawn.save(small, format="png", optimize=True)
    width, height = (round(side * 96 / DOTS_PER_INCH) for side in drawn.size)
    return Frame(small.getvalue(), (width, height), picture.description)


def _listed(names: Mapping[str, Any]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _shown(value: Any) -> str:
    """A value as a reader sees it: no needless digits, a true minus sign."""
    return (f"{value:g}" if isinstance(value, int | float) else str(value)).replace("-", "−")


@functools.cache
def _script() -> str:
    return resources.files(__package__).joinpath("slider.js").read_text(encoding="utf-8")
