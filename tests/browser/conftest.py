"""Chromium, and JupyterLab serving a copy of the lessons: what a browser test starts from."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.jupyterlab_page import LAUNCH_ARGUMENTS, Lab, chromium, jupyterlab

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser its tests are skipped, and say what is missing."""
    in_browser = [item for item in items if item.get_closest_marker("browser")]
    reason = what_is_missing() if in_browser else ""
    for item in in_browser:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def what_is_missing() -> str:
    """What a browser test needs and this machine lacks; empty if nothing."""
    if chromium() is None:
        return "needs Chromium (Debian: apt install chromium)"
    if importlib.util.find_spec("playwright") is None:
        return "needs playwright (make setup installs it)"
    driver = subprocess.run([sys.executable, "-m", "playwright", "--version"], capture_output=True, text=True)
    if driver.returncode:
        return f"playwright does not start (Debian: apt install libatomic1): {driver.stderr.strip()[-200:]}"
    return ""


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where screenshots stay for a person to look at; git ignores it."""
    folder = ROOT / "tests" / "artefacts"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def lab(tmp_path: Path, flashlearn_home: Path, artefacts: Path) -> Iterator[Lab]:
    """JupyterLab with its token on, on a copy of notebooks/, in a page of its own."""
    from playwright.sync_api import sync_playwright

    course, state = tmp_path / "course", tmp_path / "jupyter"
    for folder in ("notebooks", "work"):
        lessons = shutil.copytree(ROOT / "notebooks", course / folder)
    state.mkdir()
    settings = {"FLASHLEARN_HOME": str(flashlearn_home), "FLASHLEARN_COURSE": str(course)}
    with jupyterlab(lessons, settings, state) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=LAUNCH_ARGUMENTS)
        page = browser.new_page(viewport={"width": 1360, "height": 1300})
        try:
            yield Lab(page, address)
        finally:
            page.screenshot(path=artefacts / "last.png")  # where it stood, should the test have failed
            browser.close()
