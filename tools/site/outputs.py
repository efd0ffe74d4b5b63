"""What notebooks keep as output, made lighter for a page: one style sheet of a kind, pictures as files."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

_STYLE = re.compile(r"<style>.*?</style>\s*", re.DOTALL)
_EMBEDDED = re.compile(r'(<img\b[^>]*?\bsrc=")data:image/(png|svg\+xml);base64,([A-Za-z0-9+/=\s]+)"')


class Pictures:
    """The folder of the site's pictures; each is written once, and named by its content."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def save(self, content: bytes, kind: str = "png") -> str:
        """The file's name within the folder."""
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        (self.folder / name).write_bytes(content)
        return name

    def extracted(self, page: str, prefix: str) -> str:
        """HTML whose embedded pictures are files: `prefix` leads from the page to the folder.

        What has a script is left alone: a trace draws on the picture that is embedded in it.
        """
        if "<script" in page:
            return page

        def as_file(found: re.Match) -> str:
            kind = "svg" if found[2].startswith("svg") else found[2]
            return f'{found[1]}{prefix}{self.save(base64.b64decode(found[3]), kind)}" loading="lazy"'

        return _EMBEDDED.sub(as_file, page)


class OutputsOfPage:
    """The outputs of one page. Each style sheet is kept where it occurs first."""

    def __init__(self, pictures: Pictures, prefix: str) -> None:
        self.pictures, self.prefix = pictures, prefix
        self._styles: set[str] = set()

    def lighter(self, output: dict[str, Any]) -> dict[str, Any]:
        """The output with nothing in it that the page has already; where there is HTML, it alone."""
        page = output.get("data", {}).get("text/html")
        if page is None:
            return output
        page = self.pictures.extracted(_STYLE.sub(self._once, "".join(page)), self.prefix)
        return {**output, "data": {"text/html": page, "text/plain": output["data"].get("text/plain", "")}}

    def _once(self, style: re.Match) -> str:
        if style[0] in self._styles:
            return ""
        self._styles.add(style[0])
        return style[0]
