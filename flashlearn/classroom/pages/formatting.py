"""Sentences as HTML and as Markdown: `code` stays code, and everything else in them is text.

Sentences quote what a student wrote or what their program raised, so nothing in them may become markup.
"""

from __future__ import annotations

import functools
import re

import jinja2
from markupsafe import Markup, escape

_CODE = re.compile(r"`([^`\n]+)`")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&$!])")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    r"|(?<![^\x00-\u02ff])[\u200c\u200d]"
)
"""Joiners are a part of words in many scripts: they stay, except after Latin letters and at the start."""

WORDS = {
    "pass": "passed",
    "wrong": "not right yet",
    "todo": "not started",
    "missing": "not found",
    "stopped": "stopped",
    "not graded": "not graded",
}
MARKS = {"pass": "✓", "wrong": "✗", "todo": "·", "missing": "–", "stopped": "◼", "not graded": "?"}
TONES = {"pass": "pass", "wrong": "fail", "stopped": "fail", "not graded": "note"}


def visible(text: str) -> str:
    """The text without invisible characters and those that change the direction of what follows."""
    return _UNSEEN.sub("�", text)


def in_html(text: str) -> Markup:
    """A sentence for HTML."""
    done, parts, text = 0, [], visible(text)
    for found in _CODE.finditer(text):
        parts += [escape(text[done : found.start()]), Markup("<code>{}</code>").format(found[1])]
        done = found.end()
    return Markup("").join([*parts, escape(text[done:])])


def in_markdown(text: str) -> str:
    """A sentence for Markdown, on one line."""
    done, parts, text = 0, [], " ".join(visible(text).split())
    for found in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[done : found.start()]), found[0]]
        done = found.end()
    return "".join([*parts, _SPECIAL.sub(r"\\\1", text[done:])])


def fenced(text: str) -> str:
    """Code for Markdown, in a fence longer than any in it."""
    text = visible(text.rstrip())
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{text}\n{fence}"


def number(points: float) -> str:
    """Points without trailing zeros: 3, 2.5, 0.33."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def count(how_many: int, noun: str) -> str:
    """ "1 exercise", "2 exercises"."""
    return f"{how_many} {noun}" if how_many == 1 else f"{how_many} {noun}s"


@functools.cache
def template(name: str) -> jinja2.Template:
    """A template by its file name; everything in it is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flashlearn.classroom.pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(prose=in_html, number=number, visible=visible)
    environment.globals.update(words=WORDS, marks=MARKS, tones=TONES, count=count)
    return environment.get_template(name)
