"""What a page weighs: its own bytes, and with everything that a browser loads for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = re.compile(r'<(?:link|script|img)\b[^>]*?\b(?:href|src)="([^"]+)"')
_ONLY_NAMED = re.compile(r'<link\b[^>]*\brel="(?:index|search|next|prev|canonical|author)"[^>]*>')
PICTURES = (".png", ".svg", ".gif")
STYLED = re.compile(r"url\(([^)]+)\)")


@dataclass(frozen=True)
class Weight:
    """The bytes of one page: its HTML, its style sheets and scripts, its pictures."""

    page: str
    text: int
    shared: int
    pictures: int

    @property
    def total(self) -> int:
        """Everything that is loaded."""
        return self.text + self.shared + self.pictures


def weigh(site: Path, page: Path) -> Weight:
    """The weight of a page of the site."""
    written = _ONLY_NAMED.sub("", page.read_text(encoding="utf-8"))
    loaded = {_file(page, address) for address in _LOADED.findall(written)} - {None}
    sizes = {path: path.stat().st_size for path in loaded if path.is_file()}
    pictures = sum(size for path, size in sizes.items() if path.suffix in PICTURES)
    return Weight(
        page.relative_to(site).as_posix(), page.stat().st_size, sum(sizes.values()) - pictures, pictures
    )


def _file(page: Path, address: str) -> Path | None:
    parts = urlsplit(address)
    return None if parts.scheme or not parts.path else (page.parent / unquote(parts.path)).resolve()


def lines(site: Path) -> Iterator[str]:
    """The pages by their weight, for a terminal."""
    weighed = [weigh(site, page) for page in sorted(site.rglob("*.html"))]
    yield f"{'page':44}{'HTML':>9}{'shared':>9}{'pictures':>10}{'in all':>9}   (kB)"
    for one in weighed:
        if one.page == "index.html" or one.page.startswith(("lessons/", "mistakes/")):
            sizes = (one.text, one.shared, one.pictures, one.total)
            text, shared, pictures, total = (round(size / 1000) for size in sizes)
            yield f"{one.page:44}{text:9}{shared:9}{pictures:10}{total:9}"
