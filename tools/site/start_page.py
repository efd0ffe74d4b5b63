"""The start page: what one learns, a report, a timeline, a measured plot, the two commands, the lessons."""

from __future__ import annotations

import html
import re
from pathlib import Path

from flashlearn.lessons import lessons as exercises_by_lesson
from tools.site import gallery, speed_page
from tools.site.doc_pages import ORDER
from tools.site.lesson_pages import LessonPage, anchor
from tools.site.outputs import OutputsOfPage, Pictures
from tools.site.tables import row

_WILL = re.compile(r"^\| (\d\d) [^|]+ \| ([^|]+?) \|", re.MULTILINE)
"""A lesson's row in the README: its number, and what one does there."""

TEMPLATE = Path(__file__).with_name("start.md")
REPORT_OF, REPORT_BEGINS = "00", "✗ Out of bounds   scaled_add"
TIMELINE_OF, TIMELINE_BEGINS = "13", 'alt="Timeline of program (0, 0, 0) of specialised_matmul_kernel'


SOLVABLE = """## A first exercise, without installing anything

In lessons 01 to 04, {count} exercises are formulas, and you can solve them in the page: Python and the grader
then run in your browser. Start with {first} if you like.
"""
FIRST = "softmax_jacobian"


def page(
    root: Path,
    every: list[LessonPage],
    pictures: Pictures,
    address: str,
    solvable: frozenset[str] = frozenset(),
) -> str:
    """The page in Markdown; `root` is the clone, and `address` where readers clone from.

    `solvable` are the exercises that can be solved in the site.
    """
    outputs = OutputsOfPage(pictures, "_static/pictures/")
    mistakes = sum(
        len(gallery.entries(those))
        for number, those in exercises_by_lesson().items()
        if number != gallery.CLINIC
    )
    text = TEMPLATE.read_text(encoding="utf-8").format(
        address=address,
        lesson_count=len(every),
        mistake_count=mistakes,
        report=_raw(_output(every, REPORT_OF, REPORT_BEGINS, outputs)),
        timeline=_raw(_figure(_output(every, TIMELINE_OF, TIMELINE_BEGINS, outputs))),
        plot=_raw(speed_page.newest(pictures, "ladder")),
        lessons=_raw(_table(every, root)),
        solvable=SOLVABLE.format(count=len(solvable), first=_first(every)) if solvable else "",
    )
    return f"{text}\n{_menu(every)}\n"


def _first(every: list[LessonPage]) -> str:
    """A link to the exercise to start with."""
    stem = next(one.stem for one in every if FIRST in one.lesson.exercises)
    return f'<a href="lessons/{stem}.html#{anchor(FIRST)}"><code>{FIRST}</code></a>'


def _output(every: list[LessonPage], lesson: str, begins: str, outputs: OutputsOfPage) -> str:
    """The output of a lesson that has these words, as text or as HTML. Raises LookupError if none has."""
    page = next(one for one in every if one.lesson.number == lesson)
    for cell in page.solved["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if begins in "".join(data.get("text/plain", "")) or begins in "".join(data.get("text/html", "")):
                return outputs.lighter(output)["data"]["text/html"]
    raise LookupError(f"lesson {lesson} has no output with {begins!r}: the start page shows it")


def _figure(content: str) -> str:
    first_image = re.search(r"<img\b[^>]*>", content)
    image = first_image[0] if first_image else content
    return f"<figure>{image}</figure>"


def _table(every: list[LessonPage], root: Path) -> str:
    teaches = _WILL.findall((root / "README.md").read_text(encoding="utf-8"))
    will = {number: html.escape(sentence, quote=False) for number, sentence in teaches}
    rows = "".join(
        row(
            one.lesson.number,
            f'<a href="lessons/{one.stem}.html">{html.escape(one.lesson.title)}</a>'
            f"<br>{will.get(one.lesson.number, '')}",
            str(len(one.lesson.exercises)),
            one.duration,
        )
        for one in every
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "Lesson", "Exercises", "Duration"))
    return (
        f'<div class="wide lessons"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _menu(every: list[LessonPage]) -> str:
    """The site's tree of pages, which the theme shows at the side."""
    parts = {
        "Lessons": [f"lessons/{one.stem}" for one in every],
        "Practice": ["exercises", "mistakes/index", "speed"],
        **{caption: [f"docs/{name}" for name in names] for caption, names in ORDER.items()},
        "Reference": ["api/check-and-trace", "api/kernels"],
    }
    return "\n\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```"
        for caption, names in parts.items()
    )


def _raw(page: str) -> str:
    return f"```{{raw}} html\n{page}\n```"
