"""The table of exercises: lesson, name, kind, level, topic."""

from __future__ import annotations

import html

from flashlearn.exercise import Kind
from flashlearn.lessons import lessons
from tools.site import python_in_page
from tools.site.lesson_pages import LessonPage, anchor
from tools.site.tables import filterable, row

TOPICS = {
    "00": "first kernels",
    "01": "gradients",
    "02": "softmax",
    "03": "backward pass",
    "04": "logsumexp",
    "05": "execution model",
    "06": "forward pass",
    "07": "backward pass",
    "08": "backward pass",
    "09": "PyTorch",
    "10": "debugging",
    "11": "backward pass",
    "12": "speed",
    "13": "Hopper",
    "14": "low precision",
}
"""What a lesson's exercises are about, in two words; a lesson that is not listed has its title."""

KINDS = {Kind.KERNEL: "kernel", Kind.TORCH: "torch", Kind.SYMBOLIC: "symbolic"}

INTRODUCTION = """# Exercises

{count} exercises in {lessons} lessons. A *kernel* is written in Triton or Gluon, *torch* is a function of
tensors, *symbolic* an answer in sympy. Each has three hints, and a check that knows its usual mistakes by
name.
"""


SOLVABLE = """
The symbolic exercises of lessons 01 to 04 can be solved in the lesson's page, without installing anything.
What the page loads for that is free software, under <a href="_static/{folder}/{licences}">these licences</a>.
"""


def page(every: list[LessonPage], solvable: bool = False) -> str:
    """The page in Markdown; `solvable` says whether there are exercises that can be solved in the site."""
    known = {one.lesson.number: one for one in every}
    rows = []
    for number, exercises in lessons().items():
        lesson = known[number]
        for exercise in exercises:
            place = f"lessons/{lesson.stem}.html#{anchor(exercise.name)}"
            link = f'<a href="{place}"><code>{exercise.name}</code></a>'
            rows.append(
                row(
                    number,
                    f"{link}<br>{html.escape(exercise.title)}",
                    KINDS[exercise.kind],
                    lesson.lesson.level(exercise.name),
                    TOPICS.get(number, html.escape(lesson.lesson.title)),
                )
            )
    heads = {
        "Lesson": "all lessons",
        "Exercise": "",
        "Kind": "all kinds",
        "Level": "all levels",
        "Topic": "all topics",
    }
    first = INTRODUCTION.format(count=len(rows), lessons=len(known)) + (
        SOLVABLE.format(folder=python_in_page.FOLDER, licences=python_in_page.LICENCES) if solvable else ""
    )
    return f"{first}\n{filterable('exercises', heads, rows, 'a word: causal, delta, barrier …')}"
