"""A piece of HTML in a file on disk, opened in Chromium without a network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.browser.jupyterlab_page import LAUNCH_ARGUMENTS, chromium


@contextlib.contextmanager
def offline(folder: Path, html: str, scripts: bool = True) -> Iterator[Any]:
    """Playwright's page, with or without scripts; one that raises an error fails the test."""
    from playwright.sync_api import sync_playwright

    path = folder / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=LAUNCH_ARGUMENTS)
        page = browser.new_context(offline=True, java_script_enabled=scripts).new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        yield page
        assert not errors
        browser.close()
