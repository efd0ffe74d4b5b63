"""The site in Chromium: the start page, a lesson, the gallery, the search; no other host is asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.site.pages import opened

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def test_the_start_page_says_what_it_is_and_how_to_start(browser: Any, address: str):
    with opened(browser, address, "index.html") as page:
        assert page.locator("h1").inner_text().startswith("FlashLearn")
        assert "make lab" in page.locator("pre").first.inner_text()
        assert page.locator(".flashlearn .fl-verdict").is_visible()
        assert page.locator("figure img").count() == 2
        for image in page.locator("figure img").all():
            image.scroll_into_view_if_needed()
            page.wait_for_function(
                "image => image.complete && image.naturalWidth > 0", arg=image.element_handle()
            )
        page.get_by_role("link", name="FlashAttention forward").last.click()
        assert page.url.endswith("lessons/06_flash_forward.html")


def test_a_lesson_keeps_its_solutions_folded_and_its_sliders_moving(browser: Any, address: str):
    with opened(browser, address, "lessons/06_flash_forward.html") as page:
        solution = page.locator("#solution-flash_forward")
        assert not solution.locator("pre").is_visible()
        solution.locator("summary").click()
        assert "tl.dot" in solution.locator("pre").inner_text()
        card = page.locator(".flashlearn-slider").first
        before = card.locator("img").get_attribute("alt")
        card.locator("input[type=range]").first.focus()
        page.keyboard.press("End")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        after = card.locator("img").get_attribute("alt")
        page.keyboard.press("Home")
        assert len({before, after, card.locator("img").get_attribute("alt")}) > 1
        with page.expect_download() as download:
            page.get_by_role("link", name="06_flash_forward.ipynb").click()
        assert download.value.suggested_filename == "06_flash_forward.ipynb"


def test_a_trace_steps_without_a_kernel(browser: Any, address: str):
    with opened(browser, address, "lessons/06_flash_forward.html") as page:
        for fold in page.locator("details.folded").all():
            fold.evaluate("fold => fold.open = true")
        card = page.locator(".fl-trace").first
        count = card.locator(".flt-count")
        count.scroll_into_view_if_needed()
        first = count.inner_text()
        card.get_by_label("one step on").click()
        assert first.startswith("step 1 of") and count.inner_text().startswith("step 2 of")


def test_without_scripts_a_lesson_can_be_read_and_a_solution_opened(browser: Any, address: str):
    with opened(browser, address, "lessons/06_flash_forward.html", java_script_enabled=False) as page:
        assert page.locator(".flashlearn-slider .fls-note").first.is_visible()
        assert page.locator(".flashlearn-slider img").first.is_visible()
        page.locator("#solution-flash_forward summary").click()
        assert page.locator("#solution-flash_forward pre").is_visible()
        assert page.locator("math").count() > 100
    with opened(browser, address, "mistakes/index.html", java_script_enabled=False) as page:
        assert page.locator("#table-mistakes tbody tr").count() > 500


def test_the_gallery_is_filtered_and_leads_to_a_mistake(browser: Any, address: str):
    with opened(browser, address, "mistakes/index.html") as page:
        rows = page.locator("#table-mistakes tbody tr:visible")
        everything = rows.count()
        page.get_by_label("Words").fill("padding sum")
        page.get_by_label("Lesson").select_option("02")
        assert 0 < rows.count() < everything / 20
        assert page.locator("output").inner_text() == f"{rows.count()} of {everything}"
        assert "words=padding+sum" in page.url and "lesson=02" in page.url
        page.get_by_role("link", name="padding enters the sum").click()
        section = page.locator("section#m02-padding-enters-the-sum")
        assert "padding enters the sum" in section.locator("h3").inner_text()
        assert "take part in the row" in section.inner_text() and "Where to look." in section.inner_text()
        assert page.locator("figure.looks-like img").count()
    with opened(browser, address, "mistakes/index.html#words=they+held+0") as page:
        shown = page.locator("#table-mistakes tbody tr:visible")
        assert 0 < shown.filter(has_text="as if they held 0").count() <= shown.count() < everything / 20
    with opened(browser, address, "exercises.html#level=stretch&kind=kernel") as page:
        shown = page.locator("#table-exercises tbody tr:visible")
        assert 0 < shown.count() < 15 and shown.count() == shown.filter(has_text="stretch").count()


def test_the_search_finds_a_lesson_and_a_mistake(browser: Any, address: str):
    with opened(browser, address, "index.html") as page:
        page.get_by_role("searchbox").or_(page.locator("input.sidebar-search")).first.fill("rescaled")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a")
        page.wait_for_function("/found \\d+/.test(document.querySelector('#search-results').textContent)")
        found = "\n".join(page.locator("#search-results li").all_inner_texts())
        assert "FlashAttention forward" in found and "Mistakes of lesson 06" in found
