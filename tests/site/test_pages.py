"""What the pages hold: whole lessons with folded solutions, all mistakes, no solution; what they weigh."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from flashlearn.lessons import all_exercises, lessons
from tools.site import gallery, lesson_pages, weights
from tools.site.lesson_pages import LessonPage
from tools.site.text import coded, markdown

ROOT = Path(__file__).parents[2]
LESSONS = lesson_pages.read(ROOT)


def text_of(page: str) -> str:
    """A page's words, without tags, with single spaces."""
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    return " ".join(words.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').split())


def page_of(site: Path, lesson: LessonPage) -> str:
    return (site / "lessons" / f"{lesson.stem}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_has_its_facts_its_notebook_and_its_neighbours(site: Path, lesson: LessonPage):
    page = page_of(site, lesson)
    assert lesson.duration and lesson.duration in page
    assert (site / "_static" / "notebooks" / f"{lesson.stem}.ipynb").is_file()
    assert f'href="../_static/notebooks/{lesson.stem}.ipynb" download' in page
    at = LESSONS.index(lesson)
    for neighbour in (*LESSONS[max(at - 1, 0) : at], *LESSONS[at + 1 : at + 2]):
        assert f'href="{neighbour.stem}.html"' in page


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_each_solution_is_folded_below_its_stub(site: Path, lesson: LessonPage):
    page = page_of(site, lesson)
    shown = re.sub(r"<details\b.*?</details>", "", page, flags=re.DOTALL)
    for name in lesson.lesson.exercises:
        assert f'id="{lesson_pages.anchor(name)}"' in page
        assert f'id="solution-{name}"' in page and f'id="solution-{name}"' not in shown
        assert f"TODO {name}" in text_of(shown), f"the stub of {name} is not shown"
    for marking in ("BEGIN SOLUTION", "END SOLUTION", "# STUB:", "### Journal"):
        assert marking not in text_of(shown)


def test_every_named_mistake_is_in_the_gallery_with_its_sentence(site: Path):
    index = (site / "mistakes" / "index.html").read_text(encoding="utf-8")
    for lesson in LESSONS:
        if lesson.lesson.number == gallery.CLINIC:
            continue
        page = text_of((site / "mistakes" / f"{lesson.stem}.html").read_text(encoding="utf-8"))
        for entry in gallery.entries(lessons()[lesson.lesson.number]):
            sentence = " ".join(entry.sentence.replace("`", "").split())
            assert sentence in page, f"{entry.name}: {sentence}"
            assert f"{lesson.stem}.html#{entry.identity}" in index


def test_the_gallery_shows_no_line_of_a_solution(site: Path):
    shown = " ".join(text_of(path.read_text(encoding="utf-8")) for path in (site / "mistakes").glob("*.html"))
    for lesson in LESSONS:
        for cell in lesson.solved["cells"]:
            name = cell["id"].removeprefix("ex-")
            if cell["id"] == name:
                continue
            stub = lesson.stubs[cell["id"]]
            written = [line.split("  #")[0].strip() for line in lesson_pages.source(cell).splitlines()]
            own = [
                line for line in written if len(line) > 30 and line not in stub and not line.startswith("#")
            ]
            shown_too = [line for line in own if " ".join(line.split()) in shown]
            assert not shown_too, f"{name}: {shown_too}"


def test_the_clinic_is_no_part_of_the_gallery(site: Path):
    assert not list((site / "mistakes").glob(f"{gallery.CLINIC}_*"))


def test_every_exercise_is_in_the_table(site: Path):
    page = (site / "exercises.html").read_text(encoding="utf-8")
    assert page.count("<tr>") == len(all_exercises()) + 1
    for name in all_exercises():
        assert f"#{lesson_pages.anchor(name)}" in page


def test_pages_are_light(site: Path):
    assert weights.weigh(site, site / "index.html").total < 300_000
    for lesson in LESSONS:
        weighed = weights.weigh(site, site / "lessons" / f"{lesson.stem}.html")
        assert weighed.text + weighed.shared < 3_000_000, weighed


def test_the_speed_record_names_device_and_date(site: Path):
    page = text_of((site / "speed.html").read_text(encoding="utf-8"))
    assert "Measured on NVIDIA H200" in page and re.search(r"torch \d+\.\d+", page)
    assert re.search(r"NVIDIA H200, 20\d\d-\d\d-\d\d", page)
    assert "time of padded batches relative to packed ones" in page
    short = re.search(r"In short, as multiples of .*? \((?P<passes>[^)]*)\): (?P<means>.*?\d)\.(?= |$)", page)
    passes = short["passes"].split(", ")
    assert passes == ["forward full", "forward causal", "backward full", "backward causal"]
    assert all(len(re.findall(r"\d\.\d\d", one)) == len(passes) for one in short["means"].split("; "))


def test_sentences_are_shown_as_they_are_written():
    sentence = "Where p_j * x < 1 and `a_b` is [M, N] | 2^y $5"
    assert coded(sentence) == "Where p_j * x &lt; 1 and <code>a_b</code> is [M, N] | 2^y $5"
    assert markdown(sentence) == r"Where p\_j \* x \< 1 and `a_b` is \[M, N\] \| 2\^y \$5"
