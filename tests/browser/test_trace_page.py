"""A trace in a file on disk, as nbconvert leaves it: with scripts a slider, without them a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import flashlearn
from flashlearn.kernels.flash_forward import flash_forward_causal
from tests.browser.offline_page import offline

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def twice() -> str:
    q, k, v = (torch.ones(1, 2, 100, 40) for _ in range(3))
    seen = flashlearn.trace(flash_forward_causal, q, k, v, 0.125, program=(2, 1))
    return seen._repr_html_() * 2  # as JupyterLab's "Create New View for Output" has it


def test_the_slider_works_by_keyboard_and_mouse_without_a_network(twice: str, tmp_path: Path):
    with offline(tmp_path, twice) as page:
        cards = page.locator(".fl-trace")
        assert cards.count() == 2 and page.locator("input[type=range]").count() == 2
        card = cards.nth(1)
        slider = card.locator("input[type=range]")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "step 2 of 9: reads k_ptr[0, 1, 0:32, 0:40]"
        assert card.locator(".t.was").count() == 2 and card.locator(".t.now").count() == 1
        card.get_by_label("one step on").click()
        assert "v_ptr[0, 1, 0:32, 0:40]" in card.locator(".flt-said").inner_text()
        page.keyboard.press("Tab")
        slider.focus()
        page.keyboard.press("End")
        assert card.locator(".flt-count").inner_text() == "step 9 of 9"
        assert cards.nth(0).locator(".flt-count").inner_text() == "step 1 of 9", (
            "each card has a slider of its own"
        )


def test_without_scripts_the_picture_and_the_table_are_there(twice: str, tmp_path: Path):
    with offline(tmp_path, twice, scripts=False) as page:
        card = page.locator(".fl-trace").first
        assert card.locator("img").bounding_box()["height"] > 100
        assert card.locator("input").count() == 0
        assert "k_ptr" in card.locator("table").inner_text()
