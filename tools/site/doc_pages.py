"""The documentation of the repository as pages: the same text, with links that lead to pages of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ORDER = {
    "Help": ("install", "hosted", "troubleshooting", "reference", "attention"),
    "The grader": ("how-a-check-works", "how-a-mistake-is-named", "interpreter-and-gpu"),
    "Teaching": ("teaching", "classroom", "classroom-safety", "jupyterhub"),
    "Contributing": ("contributing", "architecture", "agents"),
}
"""The pages by their place in the menu; `agents` and `contributing` lie at the root of the repository."""

ROOT_PAGES = {"AGENTS.md": "agents.md", "CONTRIBUTING.md": "contributing.md"}
FILES = ("docs/bench.schema.json", "docs/check.schema.json", "docs/rooms.svg", "LICENSE")
"""What the pages link to besides pages; copied beside them."""

_LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def pages(root: Path) -> dict[str, str]:
    """Each page's Markdown by its path in the site's sources."""
    made = {f"docs/{path.name}": path for path in sorted((root / "docs").glob("*.md"))}
    made |= {f"docs/{name}": root / file for file, name in ROOT_PAGES.items()}
    listed = {f"docs/{name}.md" for names in ORDER.values() for name in names}
    if listed != made.keys():
        raise ValueError(f"docs and the menu differ: {sorted(listed ^ made.keys())}")
    return {name: _relinked(path, root) for name, path in made.items()}


def _relinked(path: Path, root: Path) -> str:
    """The page's text; a link to what the site does not have becomes its words."""
    folder = path.parent.relative_to(root).as_posix()

    def moved(link: re.Match) -> str:
        picture, words, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        file, _, fragment = target.partition("#")
        place = _place(posixpath.normpath(posixpath.join(folder, file)))
        if place is None:
            return words
        return f"{picture}[{words}]({place}{'#' + fragment if fragment else ''})"

    outside_code = re.split(
        r"(^```.*?^```)", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return "".join(part if number % 2 else _LINK.sub(moved, part) for number, part in enumerate(outside_code))


def _place(file: str) -> str | None:
    """Where a file of the repository is in the site, from docs/; None if it is not there."""
    if file == "README.md":
        return "../index.md"
    if file in ROOT_PAGES:
        return ROOT_PAGES[file]
    if file in FILES:
        return file.removeprefix("docs/")
    if file.startswith("solutions/"):
        return f"../lessons/{file.removeprefix('solutions/')}"
    return file.removeprefix("docs/") if file.startswith("docs/") and file.endswith(".md") else None
