"""Pictures: legible in both themes, and saying what they show."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from flashlearn.lessons.lesson_00_tour import pictures
from flashlearn.lessons.shared import picture_style

GROUNDS = {"light": "#ffffff", "dark": "#111111"}
PICTURES = {
    "programs": lambda: pictures.programs_over_vector(10, 4),
    "one program": lambda: pictures.programs_over_vector(3, 8),
    "tile": lambda: pictures.tile_in_memory(),
    "view with gaps": lambda: pictures.tile_in_memory((3, 4), (0, 1), (2, 3), strides=(9, 2)),
    "mask": lambda: pictures.masked_lanes([-3, -1, -2], 8, -float("inf")),
}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2, section "relative luminance")."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("colour", [picture_style.GREY, *picture_style.PALETTE])
def test_every_colour_stands_out_from_both_themes(colour, ground):
    assert contrast(colour, GROUNDS[ground]) >= 4


@pytest.mark.parametrize("colour", picture_style.PALETTE)
def test_text_on_a_colour_is_readable(colour):
    assert contrast(picture_style.ON_COLOUR, colour) >= 4


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_has_a_transparent_ground_and_a_labelled_axis(draw, tmp_path):
    picture = draw()
    path = tmp_path / "picture.png"
    path.write_bytes(picture.png())
    corners = imread(path)[:: 10**9, :: 10**9, 3]
    assert float(corners.max()) == 0.0
    assert any(axes.get_xlabel() for axes in picture.figure.axes)


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_shown_once_at_half_its_pixels_with_its_description(draw):
    picture = draw()
    data, _ = picture._repr_mimebundle_()
    element = ElementTree.fromstring(data["text/html"].replace(">", "/>"))
    width = int.from_bytes(picture.png()[16:20], "big")
    assert set(data) == {"text/html", "text/plain"}
    assert int(element.get("width")) == width // 2 <= 1000  # fits a notebook's column
    assert element.get("alt") == picture.description and picture.description in data["text/plain"]


def test_the_tail_of_a_vector_is_counted():
    assert re.search(r"3 program\(s\), 2 lane\(s\)", pictures.programs_over_vector(10, 4).description)
    assert re.search(r"2 program\(s\), 0 lane\(s\)", pictures.programs_over_vector(8, 4).description)


def test_gaps_of_a_view_are_drawn_as_ghosts():
    memory = pictures.tile_in_memory((2, 2), (0, 1), (0, 1), strides=(5, 2)).figure.axes[1]
    dashed = [patch for patch in memory.patches if patch.get_linestyle() not in ("-", "solid")]
    assert len(dashed) == 8 - 4  # offsets 0 … 7, of which 0, 2, 5 and 7 belong to the view
