"""Files that are there as a whole or not at all.

>>> write_whole(Path("report.html"), page)
"""

from __future__ import annotations

import contextlib
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place, and then put it there: on a full disk the file before it stays.

    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
