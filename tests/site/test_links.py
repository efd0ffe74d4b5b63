"""Every link of the site leads to a page that is there, and every anchor to a place in it; nothing is loaded
from another host."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}
MADE_BY_SCRIPTS = {"search.html": ""}


@dataclass
class Page(HTMLParser):
    """What a page has: links, what it loads, and its anchors."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
            elif (tag, name) in LOADING:
                self.loads.append(value or "")
            elif name == "id" or (tag, name) == ("a", "name"):
                self.anchors.append(value or "")


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html"))


def broken(site: Path, path: Path, link: str) -> str:
    """Why a link of a page leads nowhere; "" if it does not."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto", "data") or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return "there is no such file"
    if parts.fragment and target.suffix == ".html" and "=" not in parts.fragment:
        known = read(target).anchors
        return "" if unquote(parts.fragment) in known else "there is no such anchor"
    return ""


def test_every_link_and_every_anchor_is_there(site: Path):
    found = [
        f"{path.relative_to(site)}: {link}: {reason}"
        for path in pages(site)
        for link in {*read(path).links, *read(path).loads}
        if (reason := broken(site, path, link))
    ]
    assert not found, "\n".join(sorted(found))


def test_there_are_links_to_check(site: Path):
    assert len(pages(site)) > 40
    assert sum(len(read(path).links) for path in pages(site)) > 5000


def test_nothing_is_loaded_from_another_host(site: Path):
    foreign = [
        f"{path.relative_to(site)}: {link}"
        for path in pages(site)
        for link in read(path).loads
        if urlsplit(link).netloc
    ]
    styles = [
        f"{path.relative_to(site)}: {found}"
        for path in (*site.rglob("*.css"), *pages(site))
        for found in re.findall(
            r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", path.read_text("utf-8")
        )
    ]
    assert not foreign + styles, "\n".join(foreign + styles)


def test_no_anchor_is_there_twice(site: Path):
    double = [
        f"{path.relative_to(site)}: {anchor}"
        for path in pages(site)
        for anchor in {a for a in read(path).anchors if read(path).anchors.count(a) > 1}
    ]
    assert not double, "\n".join(double)
