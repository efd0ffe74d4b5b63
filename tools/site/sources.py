"""Everything that Sphinx reads, written to one folder: pages, notebooks, pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.site import doc_pages, lesson_pages
from tools.site.outputs import Pictures

HERE = Path(__file__).parent


def write(root: Path, target: Path, few_pictures: bool = False) -> None:
    """Write the sources of the site of the clone at `root` to the folder `target`."""
    static = target / "_static"
    shutil.copytree(HERE / "static", static)
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    shutil.copytree(root / "notebooks", static / "notebooks", ignore=shutil.ignore_patterns(".*"))
    pictures = Pictures(static / "pictures")
    lessons = lesson_pages.read(root)
    pages = doc_pages.pages(root)
    pages["index.md"] = "# FlashLearn\n\n```{toctree}\n:glob:\nlessons/*\ndocs/*\n```\n"
    for page in lessons:
        made = json.dumps(lesson_pages.notebook(page, lessons, pictures))
        pages[f"lessons/{page.stem}.ipynb"] = made
    for name, text in pages.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for file in doc_pages.FILES:
        shutil.copyfile(root / file, target / "docs" / Path(file).name)
