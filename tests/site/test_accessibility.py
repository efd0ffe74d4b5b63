"""axe finds nothing in the pages, in either theme; AXE is the path of axe-core's axe.min.js."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.site.test_in_browser import PAGES, browser, opened  # noqa: F401  the fixture

AXE = Path(os.environ.get("AXE", "axe.min.js"))

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core (make sitetests takes it from npm)"),
]


def problems(page: Any) -> list[str]:
    """What axe finds in an open page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(browser: Any, address: str, path: str, theme: str):  # noqa: F811
    with opened(browser, address, path, color_scheme=theme) as page:
        found = problems(page)
    assert not found, "\n".join(found)
