"""The built website, and a server for it on this machine."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import pytest_collection_modifyitems  # noqa: F401  without Chromium, say so
from tests.browser.jupyterlab_page import LAUNCH_ARGUMENTS, chromium

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site; tests are skipped where none is."""
    folder = Path(os.environ.get("FLASHLEARN_SITE", ROOT / "build" / "site"))
    if not (folder / "index.html").is_file():
        pytest.skip("needs the built site (make sitetests builds one)")
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that logs nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: "http://127.0.0.1:40123"."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once: every page has a context of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), headless=True, args=LAUNCH_ARGUMENTS)
        yield started
        started.close()
