"""On a phone and on a wide screen: pictures are whole, what scrolls shows it, links lead to their place."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.site.pages import opened
from tools.site import finishing, lesson_pages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
WITH_PICTURES = (
    "index.html",
    "speed.html",
    "lessons/05_execution_model.html",
    "lessons/06_flash_forward.html",
)
UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"
CUT = """() => [...document.querySelectorAll("article img, article svg")].filter((picture) => {
  if (picture.closest(".fl-trace")) return false;
  const width = picture.getBoundingClientRect().width;
  let edge = innerWidth;
  for (let box = picture.parentElement; box; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== "visible")
      edge = Math.min(edge, box.getBoundingClientRect().right);
  return width && picture.getBoundingClientRect().right > edge + 1;
}).map((picture) => picture.alt || picture.outerHTML.slice(0, 200))"""
"""Pictures of which the right end cannot be seen; a trace's are not scaled down, and scroll."""
UNMARKED = """() => [...document.querySelectorAll("article *")].filter((box) =>
  ["auto", "scroll"].includes(getComputedStyle(box).overflowX) && box.clientWidth
  && box.scrollWidth > box.clientWidth + 3
  && (!box.dataset.more || getComputedStyle(box).maskImage === "none")
).map((box) => box.outerHTML.slice(0, 200))"""
"""What scrolls to the right and does not show it."""


STILL = "() => { const before = window.was; window.was = scrollY; return scrollY > 0 && before === scrollY; }"
"""The page has been scrolled, and does not move any more."""


@pytest.mark.parametrize("path", WITH_PICTURES)
def test_no_picture_is_cut_and_what_scrolls_shows_it(browser: Any, address: str, path: str):
    with opened(browser, address, path, 400) as page:
        page.evaluate(UNFOLD)
        assert page.locator("article img").count()
        for width in (400, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(300)
            assert not page.evaluate(CUT), width
            assert not page.evaluate(UNMARKED), width


@pytest.mark.parametrize("path", ["exercises.html", "docs/reference.html"])
def test_a_table_that_is_too_wide_shows_where_there_is_more(browser: Any, address: str, path: str):
    with opened(browser, address, path, 400) as page:
        table = page.locator(":is(.wide, .table-wrapper)[data-more=right]").first.element_handle()
        table.evaluate("table => table.scrollLeft = 10")
        page.wait_for_function("table => table.dataset.more === 'left right'", arg=table)
        table.evaluate("table => table.scrollLeft = table.scrollWidth")
        page.wait_for_function("table => table.dataset.more === 'left'", arg=table)
        page.set_viewport_size({"width": 2000, "height": 900})
        page.wait_for_function("table => !table.dataset.more", arg=table)


def test_a_long_formula_scrolls_in_a_box_of_its_own(browser: Any, address: str):
    with opened(browser, address, "lessons/03_attention_backward.html", 400) as page:
        page.evaluate(UNFOLD)
        page.wait_for_selector("span.math.is-wide[data-more]")
        formulas = page.locator("article .math:not(table *)")
        boxes = formulas.evaluate_all("all => all.map(m => m.getBoundingClientRect().right)")
        assert max(boxes) <= 400
        page.set_viewport_size({"width": 1400, "height": 900})
        page.wait_for_function("!document.querySelector('span.math.is-wide')")


def test_a_link_into_a_lesson_leads_to_its_place(browser: Any, address: str):
    anchor = lesson_pages.anchor("dkv_kernel_causal")
    with opened(browser, address, f"lessons/08_dk_dv.html#{anchor}", 400) as page:
        page.wait_for_function(STILL, polling=200)  # the theme scrolls smoothly
        place = page.locator(f"section#{anchor} > :is(h2, h3, h4)").first
        before = place.bounding_box()["y"]
        assert 0 <= before < 150
        lazy = page.locator("article img[loading=lazy]")
        lazy.evaluate_all("all => all.forEach(image => image.loading = 'eager')")  # nothing moves
        page.wait_for_function("[...document.querySelectorAll('article img')].every(i => i.complete)")
        assert abs(place.bounding_box()["y"] - before) < 20


def test_an_empty_table_says_so_and_shows_everything_again(browser: Any, address: str):
    with opened(browser, address, "exercises.html#words=nosuchword&lesson=06") as page:
        rows = page.locator("#table-exercises tbody tr:visible")
        assert rows.count() == 0
        assert "Nothing matches." in page.locator(".filter-empty").inner_text()
        page.get_by_role("button", name="Show all").click()
        assert rows.count() > 50 and not page.locator(".filter-empty").is_visible()
        assert page.get_by_label("Words").input_value() == page.get_by_label("Lesson").input_value() == ""
        assert "nosuchword" not in page.url


def test_the_way_back_to_the_top_covers_no_text(browser: Any, address: str):
    with opened(browser, address, "lessons/01_gradients.html") as page:
        for width in (400, 1000, 1400):
            page.set_viewport_size({"width": width, "height": 900})
            for y in (6000, 5000):  # it comes when one scrolls up
                page.evaluate(f"scrollTo({{top: {y}, behavior: 'instant'}})")
                page.wait_for_timeout(200)
            button = page.locator(".back-to-top")
            if button.is_visible():
                article = page.locator("article").bounding_box()
                assert button.bounding_box()["x"] >= article["x"] + article["width"]
            assert button.is_visible() == (width == 1400), width


def test_every_picture_of_a_file_has_its_size(site: Path):
    lacking = [
        f"{path.relative_to(site)}: {image}"
        for path in site.rglob("*.html")
        for image in re.findall(r"<img\b[^>]*>", path.read_text(encoding="utf-8"))
        if 'src="data:' not in image and not re.search(r'\bwidth="\d+" height="\d+"', image)
    ]
    assert not lacking, "\n".join(lacking)


def test_every_page_has_a_description_and_an_icon(site: Path):
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        (described,) = re.findall(r'<meta name="description" content="([^"]*)">', page)
        assert len(described) > 10 and not described.endswith(":"), path
        icon = re.search(r'<link rel="shortcut icon" href="([^"?]*)', page)
        assert icon and (path.parent / icon[1]).is_file(), path


def test_a_description_is_the_first_whole_sentences():
    first = "This is a first sentence of a page that is long enough."
    page = f"<title>A page</title><article><p>Short.</p><p>{first} It leads on:</p></article>"
    assert finishing.description(page) == first
    assert finishing.description("<title>A page</title>") == "A page"
    long = finishing.description(f"<article><p>{'word ' * 100}</p></article>")
    assert len(long) < 210 and long.endswith("word …")


def test_no_sentence_leads_to_a_cell_that_a_page_lacks():
    for page in lesson_pages.read(ROOT):
        cells = [cell for cell in page.solved["cells"] if cell["id"] not in lesson_pages.LINKS]
        kept = {cell["id"]: cell for cell in lesson_pages._without_those_for_editors(cells)}
        for cell, following in itertools.pairwise(cells):
            if cell["id"] in kept and following["id"] not in kept:
                assert not lesson_pages.source(kept[cell["id"]]).rstrip().endswith(":"), page.stem
