"""A page of the built site, opened in Chromium."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit


@contextlib.contextmanager
def opened(browser: Any, address: str, path: str, width: int = 1200, **options: Any) -> Iterator[Any]:
    """A page of the site; an error in it fails the test, and so does a request to another host."""
    asked, errors = [], []
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/{path}")
    yield page
    context.close()
    own = urlsplit(address).netloc
    foreign = [url for url in asked if urlsplit(url).scheme != "data" and urlsplit(url).netloc != own]
    assert not errors and not foreign, (errors, foreign)
