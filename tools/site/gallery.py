"""The gallery of mistakes: every named mistake with its sentence, how it looks, and where to look.

All of it comes from the declarations of the exercises. The clinic's are left out: a patient's diagnosis is
what its exercise asks for.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flashlearn.exercise import Exercise
from flashlearn.lessons import lessons
from flashlearn.outcome import Status
from tools.site.lesson_pages import LessonPage, anchor
from tools.site.mistake_pictures import Seen, seen
from tools.site.outputs import Pictures
from tools.site.tables import filterable, row
from tools.site.text import coded, markdown, slug

CLINIC = "10"


@dataclass(frozen=True)
class Entry:
    """One mistake of a lesson, which several of its exercises may have."""

    name: str
    sentence: str
    next_step: str
    status: Status
    exercises: tuple[Exercise, ...]
    identity: str

    @property
    def word(self) -> str:
        """How a check ends, as its report says."""
        return self.status.value.capitalize()

    @property
    def key(self) -> tuple[str, str]:
        """The exercise whose case is shown, and the mistake's name there."""
        return self.exercises[0].name, self.name


def entries(exercises: Iterable[Exercise]) -> list[Entry]:
    """The mistakes of a lesson, in the order of their declarations; the same one is listed once."""
    grouped: dict[tuple, list[Exercise]] = {}
    for exercise in exercises:
        for name, mistake in exercise.explained.mistakes.items():
            key = (name, mistake.sentence, mistake.next_step, mistake.status)
            grouped.setdefault(key, []).append(exercise)
    found, taken = [], set()
    for key, having in grouped.items():
        lesson = having[0].lesson
        identity = f"m{lesson}-{slug(key[0])}"
        if identity in taken:  # another sentence for the same name: that of another exercise
            identity = f"m{lesson}-{slug(having[0].name)}-{slug(key[0])}"
        taken.add(identity)
        found.append(Entry(*key, tuple(having), identity))
    return found


def pages(every: list[LessonPage], pictures: Pictures, few_pictures: bool = False) -> dict[str, str]:
    """The gallery's pages by their path in the site's sources."""
    gallery = {number: entries(those) for number, those in lessons().items() if number != CLINIC}
    wanted = [entry.key for those in gallery.values() for entry in those]
    if few_pictures:
        wanted = list({exercise: (exercise, name) for exercise, name in reversed(wanted)}.values())[2::3]
    looks = {(look.exercise, look.mistake): look for look in seen(wanted)}
    known = {page.lesson.number: page for page in every}
    made = {
        f"mistakes/{known[number].stem}.md": _lesson(known[number], those, looks, pictures)
        for number, those in gallery.items()
    }
    return {"mistakes/index.md": _index(gallery, known), **made}


INTRODUCTION = """# Gallery of mistakes

A check does not only say *wrong*. It knows {count} mistakes by name, recognises them in what you wrote, and
says what happened and where to look. All are here, except those of the clinic (lesson 10), whose patients
you examine yourself. For each there is the sentence of the report and, where it can be drawn, what it looks
like: a map of the error in the output, a block's lanes, a timeline up to the fault, or numbers. No solution
is shown.
"""


def _index(gallery: Mapping[str, list[Entry]], known: Mapping[str, LessonPage]) -> str:
    rows = [
        row(
            f'<a href="{known[number].stem}.html#{entry.identity}">{html.escape(entry.name)}</a>'
            f"<br>{coded(entry.sentence)}",
            number,
            "<br>".join(f"<code>{exercise.name}</code>" for exercise in entry.exercises),
            entry.word,
        )
        for number, those in gallery.items()
        for entry in those
    ]
    heads = {"Mistake": "", "Lesson": "all lessons", "Exercise": "", "Verdict": "all verdicts"}
    listed = "\n".join(known[number].stem for number in gallery)
    return "\n\n".join(
        [
            INTRODUCTION.format(count=len(rows)),
            "```{toctree}\n:hidden:\n\n" + listed + "\n```",
            filterable("mistakes", heads, rows, "a word: padding, scale, barrier …"),
        ]
    )


def _lesson(
    page: LessonPage, those: list[Entry], looks: Mapping[tuple[str, str], Seen], pictures: Pictures
) -> str:
    number, title = page.lesson.number, page.lesson.title
    first = (
        f"# Mistakes of lesson {number}\n\nThe {len(those)} mistakes that the exercises of "
        f"[{number} · {title}](../lessons/{page.stem}.ipynb) know by name. "
        "[Those of all lessons](index.md) can be filtered."
    )
    parts = [first]
    for name, group in itertools.groupby(those, key=lambda entry: entry.exercises[0].name):
        parts.append(f"## `{name}`")
        parts += [_entry(entry, looks.get(entry.key), page, pictures) for entry in group]
    return "\n\n".join(parts)


def _entry(entry: Entry, look: Seen | None, page: LessonPage, pictures: Pictures) -> str:
    where = ", ".join(f"[`{e.name}`](../lessons/{page.stem}.ipynb#{anchor(e.name)})" for e in entry.exercises)
    report = [f"**{entry.word}** in {where}", markdown(entry.sentence)]
    if entry.next_step:
        report.append(f"**Where to look.** {markdown(entry.next_step)}")
    kind = entry.status.name.lower().replace("_", "-")
    parts = [
        f"({entry.identity})=\n### {markdown(entry.name)}",
        f":::{{container}} seen-as is-{kind}\n" + "\n\n".join(report) + "\n:::",
        _figure(look, pictures) if look else "",
    ]
    return "\n\n".join(filter(None, parts))


def _figure(look: Seen, pictures: Pictures) -> str:
    """The picture, with the case that it is of and what is said of it there."""
    if not (look.picture or look.message):
        return ""
    caption = f"Case “{look.case}” of `{look.exercise}`. {look.message}"
    shown = f"<pre>{html.escape(look.numbers)}</pre>" if look.numbers else ""
    if look.picture:
        size = _size(look)
        name = pictures.save(look.picture, look.kind)
        words = html.escape(look.description)
        shown = f'<img src="../_static/pictures/{name}" {size}alt="{words}" loading="lazy">'
    ground = " on-paper" if look.kind == "png" else ""
    return (
        "```{raw} html\n"
        f'<figure class="looks-like{ground}">{shown}'
        f"<figcaption>{coded(caption.strip())}</figcaption></figure>\n```"
    )


def _size(look: Seen) -> str:
    """The size at which a PNG is sharp, from its header; an SVG has its own."""
    if look.kind != "png":
        return ""
    width, height = (int.from_bytes(look.picture[at : at + 4], "big") // 2 for at in (16, 20))
    return f'width="{width}" height="{height}" '
