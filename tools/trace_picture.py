"""Draws docs/trace.gif, the moving picture of README.md: one program of a kernel, step by step.

    .venv/bin/python tools/trace_picture.py

It is what `flashlearn.trace` shows in Jupyter, opened in Chromium (Debian: apt install chromium), with the
slider moved by one step for every picture. The course's own kernels are exercises, and a trace withholds
their lines; so the kernel here is none: a block of scores Q Kᵀ.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import torch
import triton
import triton.language as tl
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import flashlearn

TARGET = Path(__file__).parents[1] / "docs" / "trace.gif"
WIDTH = 760  # pixels: about as wide as the text of a page
MARGIN = 10  # pixels of white around the card, so that it stands on a dark page too
STEP = 1100  # milliseconds for which a step is shown
LAST = 2600  # the last one stays longer, before it starts again


@triton.jit
def scores_kernel(q_ptr, k_ptr, s_ptr, S, D, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    d = tl.arange(0, 64)[None, :]
    q = tl.load(q_ptr + rows * D + d, mask=(rows < S) & (d < D), other=0.0)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        keys = start + tl.arange(0, BLOCK)[:, None]
        k = tl.load(k_ptr + keys * D + d, mask=(keys < S) & (d < D), other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        keys = tl.trans(keys)
        tl.store(s_ptr + rows * S + keys, s, mask=(rows < S) & (keys < S))


def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """S = Q Kᵀ in the blocks on and below the diagonal, one program per block of rows; D is 64 at most."""
    S, D = q.shape
    s = torch.zeros((S, S))
    grid = (triton.cdiv(S, 32),)
    scores_kernel[grid](q, k, s, S, D, BLOCK=32)
    return s


def pictures(page: Page) -> list[Image.Image]:
    """The card at every step."""
    slider = page.locator("input[type=range]")
    steps = int(slider.get_attribute("max")) - int(slider.get_attribute("min")) + 1
    taken = []
    for step in range(steps):
        if step:
            page.get_by_label("one step on").click()
        page.evaluate("document.activeElement.blur()")  # no ring around the button
        page.mouse.move(0, 0)
        taken.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    card = page.locator(".fl-trace").bounding_box()
    below = round(card["y"] + card["height"]) + MARGIN
    return [picture.crop((0, 0, WIDTH, below)) for picture in taken]


def main() -> None:
    """Trace, look, and write the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("This needs Chromium (Debian: apt install chromium).")
    seen = flashlearn.trace(scores, torch.ones(150, 48), torch.ones(150, 48), program=4)
    # the table below the maps stays out of the picture: it does not move
    style = f"body {{ margin: {MARGIN}px; background: white }} .fl-scroll, .flt-foot {{ display: none }}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_context(offline=True, color_scheme="light").new_page()
        page.set_viewport_size({"width": WIDTH, "height": 900})
        page.set_content(f"<!doctype html><meta charset=utf-8><style>{style}</style>{seen._repr_html_()}")
        frames = pictures(page)
        browser.close()
    # one palette for all of them: colours that change from frame to frame would flicker
    maps = Image.new("RGB", (WIDTH, len(frames) * 300))
    for i, frame in enumerate(frames):
        maps.paste(frame, (0, i * 300))
    palette = maps.quantize(colors=256, kmeans=4)
    shown = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [STEP] * (len(shown) - 1) + [LAST]
    shown[0].save(TARGET, save_all=True, append_images=shown[1:], duration=durations, loop=0, optimize=True)
    print(f"{TARGET}: {len(shown)} steps, {TARGET.stat().st_size // 1024} KiB, {shown[0].size}")


if __name__ == "__main__":
    main()
