"""A slider in a file on disk, as nbconvert leaves it: with scripts it moves, without them it is a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashlearn.lessons.lesson_00_tour.pictures import programs_over_vector
from flashlearn.lessons.shared.slider import slider
from tests.browser.offline_page import offline

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def twice() -> str:
    return slider(programs_over_vector, {"n": 5, "block": 4}, n=(4, 5), block=(2, 4)).page() * 2


def test_each_slider_turns_to_the_picture_of_its_values_without_a_network(twice: str, tmp_path: Path):
    with offline(tmp_path, twice) as page:
        cards = page.locator(".flashlearn-slider")
        assert cards.count() == 2 and page.locator("input[type=range]").count() == 4
        card = cards.nth(1)
        assert not card.locator(".fls-note").is_visible()
        card.get_by_label("block", exact=True).focus()
        page.keyboard.press("ArrowLeft")
        assert card.locator("img").get_attribute("alt").startswith("5 elements in blocks of 2: 3 program")
        card.get_by_label("n", exact=True).focus()
        page.keyboard.press("Home")
        assert card.locator("img").get_attribute("alt").startswith("4 elements in blocks of 2: 2 program")
        assert card.locator("b").all_inner_texts() == ["n = 4", "block = 2"]
        assert cards.nth(0).locator("img").get_attribute("alt").startswith("5 elements in blocks of 4")


def test_without_scripts_the_start_values_are_shown_and_said(twice: str, tmp_path: Path):
    with offline(tmp_path, twice, scripts=False) as page:
        card = page.locator(".flashlearn-slider").first
        assert card.locator("img").bounding_box()["height"] > 100
        assert "Shown for n = 5, block = 4." in card.locator(".fls-note").inner_text()
        assert card.locator("input").count() == 0
