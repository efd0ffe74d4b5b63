"""Pages at three widths and in both themes: none is too wide, and axe (its file is $AXE) finds nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.site.pages import opened

AXE = Path(os.environ.get("AXE", "axe.min.js"))
ARTEFACTS = Path(__file__).parents[1] / "artefacts"
ALL = os.environ.get("SITE") == "all"
BUILT = Path(os.environ.get("FLASHLEARN_SITE", "build/site"))
PAGES = (
    "index.html",
    "lessons/04_logsumexp.html",
    "mistakes/index.html#words=padding",
    "mistakes/14_low_precision.html",
    "exercises.html",
    "speed.html",
    "docs/reference.html",
    "api/check-and-trace.html",
    "search.html",
)
"""One of each kind, of the long table some rows. With SITE=all it is every page, and there are screenshots of
each width in both themes afterwards: minutes more."""
LOOKED_AT = sorted(str(one.relative_to(BUILT)) for one in BUILT.rglob("*.html")) if ALL else PAGES
WIDTHS = (400, 800, 1400)
GROUNDS = {"light": range(381, 766), "dark": range(381)}
"""What red, green and blue of a page's ground sum to."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (make sitetests takes it from npm)"),
]


def problems(page: Any, within: str = "html", rules: tuple[str, ...] = ()) -> list[str]:
    """What axe finds in an open page, in elements of this selector; all rules unless some are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    run = "([within, options]) => axe.run(document.querySelector(within), options)"
    found = page.evaluate(run, [within, options])["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("path", LOOKED_AT)
def test_a_page_fits_its_window_and_axe_finds_nothing_in_either_theme(browser: Any, address: str, path: str):
    ARTEFACTS.mkdir(exist_ok=True)
    name = path.partition(".html")[0].replace("/", "-")
    with opened(browser, address, path, color_scheme="light") as page:
        found = problems(page)
        for theme, ground in GROUNDS.items():
            page.emulate_media(color_scheme=theme)
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert sum(map(int, colour[4:-1].split(","))) in ground, (theme, colour)
            for width in WIDTHS if ALL or theme == "light" else ():  # a theme changes colours alone
                page.set_viewport_size({"width": width, "height": 900})
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{wide} pixels wide at {width}"
                if ALL:
                    page.screenshot(path=ARTEFACTS / f"site-{name}-{width}-{theme}.png")
        page.set_viewport_size({"width": 1200, "height": 900})
        found += problems(page, rules=("color-contrast",))  # all that the theme, now dark, could change
    assert not found, "\n".join(found)
