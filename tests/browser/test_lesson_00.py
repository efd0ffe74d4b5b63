"""Lesson 00 as a learner meets it: untouched, with a mask forgotten, and right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.jupyterlab_page import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

EXERCISE = "ex-scaled_add"
RIGHT = """\
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=inside).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=inside)


def scaled_add(a, x, y):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(x.numel(), 256),)
    scaled_add_kernel[grid](a, x, y, z, x.numel(), x.stride(0), y.stride(0), BLOCK=256)
    return z
"""
MASK_FORGOTTEN = RIGHT.replace(
    "tl.load(x_ptr + offsets * stride_x, mask=inside)", "tl.load(x_ptr + offsets * stride_x)"
)
LINE_OF_THE_LOAD = next(
    number for number, line in enumerate(MASK_FORGOTTEN.splitlines(), start=1) if "tl.load(x_ptr" in line
)


def check_cell(lab: Lab) -> str:
    """The cell after the exercise that asks for its verdict."""
    cells = lab.cell_ids("code")
    for cell in cells[cells.index(EXERCISE) :]:
        source = lab.source(cell)
        if re.search(r'check\(\s*"scaled_add",\s*scaled_add\s*\)', source):
            return cell
    raise AssertionError("lesson 00 has no cell that checks scaled_add")


def report_of(lab: Lab, cell: str) -> str:
    """The text of what the cell shows, as the page has it."""
    return lab.show(cell).locator(".jp-Cell-outputArea").inner_text()


def channels(colour: str) -> tuple[int, int, int]:
    """Of a computed colour such as "rgb(31, 122, 77)"."""
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return red, green, blue


def pictures(lab: Lab, cell: str, folder: Path, name: str) -> None:
    """The page with the cell on top, and the card alone, in both themes."""
    for theme in ("dark", "light"):
        lab.theme(theme)
        card = lab.show(cell).locator(".flashlearn")
        lab.page.screenshot(path=folder / f"{name}-{theme}.png")
        # of the page, not of the element: JupyterLab may draw a cell anew while its picture is taken
        lab.page.screenshot(path=folder / f"{name}-card-{theme}.png", clip=card.bounding_box())


def test_a_learner_goes_from_an_untouched_lesson_to_a_green_card(lab: Lab, artefacts: Path):
    lab.open("00_tour.ipynb")
    lab.run_all()
    assert lab.errors() == [], "an untouched notebook runs from top to bottom"
    kernel, verdict = lab.kernel_id(), check_cell(lab)
    assert "not started" in report_of(lab, verdict).lower()
    pictures(lab, verdict, artefacts, "untouched")

    lab.type_into(EXERCISE, MASK_FORGOTTEN)
    lab.run(EXERCISE)
    lab.run(verdict)
    report = report_of(lab, verdict)
    assert "out of bounds" in report.lower()
    assert len(lab.outputs(verdict)) == 1, "a verdict is shown once: the card, with its text beside it"
    assert re.search(rf"\bline {LINE_OF_THE_LOAD}\b", report, flags=re.I), report
    assert "x_ptr + offsets * stride_x)" in report, "the line's own text is shown"
    pictures(lab, verdict, artefacts, "mask-forgotten")

    last = lab.cell_ids("code")[-1]
    lab.type_into(last, "1 + 1")
    assert lab.run(last)[0]["data"]["text/plain"] == "2", "the Jupyter kernel is alive"
    assert lab.kernel_id() == kernel and lab.restarts() == 0

    lab.type_into(EXERCISE, RIGHT)
    lab.run(EXERCISE)
    lab.run(verdict)
    badge = lab.show(verdict).locator(".fl-verdict")
    assert "Passed" in badge.inner_text()
    red, green, blue = channels(badge.evaluate("badge => getComputedStyle(badge).backgroundColor"))
    assert green > max(red, blue), "the card is green"
    # the compiler's answer arrives later, in the same card
    lab.show(verdict).get_by_text("sm_90").first.wait_for(state="attached")
    assert len(lab.outputs(verdict)) == 1
    pictures(lab, verdict, artefacts, "passed")
