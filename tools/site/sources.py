"""Everything that Sphinx reads, written to one folder: pages, notebooks, pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.site import api_pages, doc_pages, exercise_table, gallery, lesson_pages, speed_page, start_page
from tools.site.outputs import Pictures

HERE = Path(__file__).parent


def write(root: Path, target: Path, address: str, few_pictures: bool = False) -> None:
    """Write the sources of the site of the clone at `root` to the folder `target`.

    `address` is what readers clone. With `few_pictures` the gallery has one for each exercise.
    """
    static = target / "_static"
    shutil.copytree(HERE / "static", static)
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    shutil.copytree(root / "notebooks", static / "notebooks", ignore=shutil.ignore_patterns(".*"))
    pictures = Pictures(static / "pictures")
    lessons = lesson_pages.read(root)
    pages = {
        "index.md": start_page.page(root, lessons, pictures, address),
        "exercises.md": exercise_table.page(lessons),
        "speed.md": speed_page.page(pictures),
        **gallery.pages(lessons, pictures, few_pictures),
        **api_pages.pages(),
        **doc_pages.pages(root),
    }
    for page in lessons:
        made = json.dumps(lesson_pages.notebook(page, lessons, pictures))
        pages[f"lessons/{page.stem}.ipynb"] = made
    for name, text in pages.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for file in doc_pages.FILES:
        shutil.copyfile(root / file, target / "docs" / Path(file).name)
