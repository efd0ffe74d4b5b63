"""The card as HTML: one template, one style sheet, no scripts, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import functools
import json
import re

import jinja2
from markupsafe import Markup, escape

from flashlearn.report.card import Card
from flashlearn.report.differences import PAGE
from flashlearn.report.error_map import ErrorMap
from flashlearn.report.tile_values import MARKS, TileValues


def render(card: Card) -> str:
    """The card. Everything that comes from a learner is escaped by the template's autoescape."""
    return _template("card").render(card=card, marks=MARKS, page=PAGE)


def render_map(error_map: ErrorMap, right: bool) -> str:
    """A card with nothing but the map."""
    return _template("shown").render(map=error_map, right=right)


def render_values(values: TileValues) -> str:
    """A card with a tile's values."""
    return _template("dump").render(values=values, marks=MARKS)


@functools.cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flashlearn.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["coded"] = coded
    environment.filters["base64"] = lambda image: base64.b64encode(image).decode()
    environment.filters["linked"] = linked
    environment.globals["hint_command"] = hint_command
    return environment.get_template(f"{name}.html.j2")


def linked(shown: Markup, links: tuple[tuple[str, str], ...]) -> Markup:
    """The sentence with each name as a link, where it comes first."""
    for name, address in links:
        link = f'<a href="{escape(address)}">{escape(name)}</a>'
        shown = Markup(re.sub(rf"\b{re.escape(name)}\b", lambda _, link=link: link, str(shown), count=1))
    return shown


def hint_command(call: str) -> str:
    """What JupyterLab does when the hint's button is pressed: a new cell below with the call, which runs.

    Only JupyterLab shows the button (card.css): it knows these commands, and other front ends do not.
    """
    # a new cell has its editor a moment later: saving takes longer
    commands = (
        "notebook:insert-cell-below",
        "docmanager:save",
        "notebook:replace-selection",
        "notebook:run-cell-and-select-next",
    )
    return json.dumps({"commands": commands, "args": {"text": call}})  # every command is given the same


def coded(sentence: str) -> Markup:
    """The sentence, escaped, with what is between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(sentence))))
