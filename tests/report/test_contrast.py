"""Words on a card and a trace are legible on JupyterLab's light and dark pages: 4.5:1, and marks 3:1.

Computed from the style sheets, and from the colours that the drawings have.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flashlearn.tracing import tile_maps, timeline_svg

PACKAGE = Path(__file__).parents[2] / "flashlearn"
CARD = (PACKAGE / "report/templates/card.css").read_text()
TRACE = (PACKAGE / "tracing/templates/trace.css").read_text()
RULES = re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", CARD + TRACE, flags=re.DOTALL))

Colour = tuple[float, float, float]
THEMES: dict[str, tuple[Colour, tuple[Colour, float]]] = {
    "light": ((255, 255, 255), ((0, 0, 0), 0.87)),
    "dark": ((17, 17, 17), ((255, 255, 255), 1.0)),
}
"""JupyterLab's page, and its text's colour with its alpha."""

GREY: Colour = (127, 127, 127)
WASH = 0.1  # alpha of --fl-wash


def over(ink: Colour, alpha: float, ground: Colour) -> Colour:
    return tuple(alpha * i + (1 - alpha) * g for i, g in zip(ink, ground, strict=True))


def hexadecimal(colour: str) -> Colour:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def luminance(colour: Colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (x / 255 for x in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Colour, other: Colour) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def opacity(name: str) -> float:
    """Of a class, as the style sheets have it."""
    found = [
        float(value[1])
        for selectors, body in RULES
        if any(one.strip().endswith(name) for one in selectors.split(","))
        and (value := re.search(r"(?<![-\w])opacity: ([\d.]+)", body))
    ]
    assert found, f"no rule for {name}"
    return min(found)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("name", "washed"),
    [
        (".fl-number", True),
        (".fl-quiet", False),
        (".fl-title", False),
        (".fl-footer", False),
        (".fl-place", False),
        (".fl-note td", False),
        ("thead th", False),
        ("tbody th", False),
        (".fl-demo", False),
    ],
)
def test_faint_words_have_a_contrast_of_4_5(theme: str, name: str, washed: bool):
    page, (ink, alpha) = THEMES[theme]
    ground = over(GREY, WASH, page) if washed else page
    assert contrast(over(ink, alpha * opacity(name), ground), ground) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_marks_of_a_legend_have_a_contrast_of_3(theme: str):
    page, _ = THEMES[theme]
    quiet = opacity(".fl-quiet")
    for verb, colour in tile_maps.COLOURS.items():
        legend = (
            1.0
            if "opacity: 1" in {one.strip(): body for one, body in RULES}[".fl-trace .flt-legend"]
            else quiet
        )
        assert contrast(over(hexadecimal(colour), legend, page), page) >= 3, verb
    for colour in timeline_svg.PALETTE:
        assert contrast(hexadecimal(colour), page) >= 3, colour
    for kind, look in timeline_svg.LOOKS.items():
        look = look.format(colour=timeline_svg.PALETTE[0])
        if stroke := re.search(r'stroke="(#\w+)"', look):
            assert contrast(hexadecimal(stroke[1]), page) >= 3, kind
            continue
        fill = hexadecimal(re.search(r'fill="(#\w+)"', look)[1])
        shine = re.search(r'fill-opacity="([\d.]+)"', look)
        assert contrast(over(fill, float(shine[1]) if shine else 1.0, page), page) >= 3, kind


def test_labels_on_coloured_boxes_and_badges_are_legible():
    white = (255, 255, 255)
    for colour in timeline_svg.PALETTE:
        assert contrast(hexadecimal(colour), white) >= 4.5, colour
    for name in ("--fl-good", "--fl-bad"):
        assert contrast(hexadecimal(re.search(rf"{name}: (#\w+)", CARD)[1]), white) >= 4.5, name


def test_pictures_of_a_trace_are_not_scaled_down_and_have_letters_of_12_pixels():
    assert tile_maps.THINNEST >= 24
    for name in (".flt-live svg", ".flt-timeline img"):
        assert any(name in selectors and "max-width: none" in body for selectors, body in RULES), name
    sizes = [
        int(size)
        for module in (tile_maps, timeline_svg)
        for size in re.findall(r'font-size="(\d+)"', Path(module.__file__).read_text())
    ]
    assert sizes and min(sizes) >= 12
