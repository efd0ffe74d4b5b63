"""Everything that Sphinx reads, written to one folder: pages, notebooks, pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools.site import (
    api_pages,
    doc_pages,
    exercise_table,
    gallery,
    lesson_pages,
    python_in_page,
    speed_page,
    start_page,
)
from tools.site.outputs import Pictures

HERE = Path(__file__).parent


def write(
    root: Path, target: Path, address: str, few_pictures: bool = False, modules: Path | None = None
) -> None:
    """Write the sources of the site of the clone at `root` to the folder `target`.

    `address` is what readers clone. With `few_pictures` the gallery has one for every third exercise.
    `modules` are the packages from npm with which formulas are solved in the page; without, they can only be
    read.
    """
    static = target / "_static"
    shutil.copytree(HERE / "static", static)
    shutil.copyfile(HERE / "conf.py", target / "conf.py")
    shutil.copytree(root / "notebooks", static / "notebooks", ignore=shutil.ignore_patterns(".*"))
    pictures = Pictures(static / "pictures")
    lessons = lesson_pages.read(root)
    solvable = None
    if modules:
        folder = static / python_in_page.FOLDER
        python_in_page.write(modules, folder, root / "build" / "in-page-cache")
        solvable = lesson_pages.Solvable(python_in_page.exercises(), python_in_page.size(folder))
    pages = {
        "index.md": start_page.page(
            root, lessons, pictures, address, solvable.names if solvable else frozenset()
        ),
        "exercises.md": exercise_table.page(lessons, solvable=solvable is not None),
        "speed.md": speed_page.page(pictures),
        **gallery.pages(lessons, pictures, few_pictures),
        **api_pages.pages(),
        **doc_pages.pages(root),
    }
    for page in lessons:
        made = json.dumps(lesson_pages.notebook(page, lessons, pictures, solvable))
        pages[f"lessons/{page.stem}.ipynb"] = made
    for name, text in pages.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for file in doc_pages.FILES:
        shutil.copyfile(root / file, target / "docs" / Path(file).name)
