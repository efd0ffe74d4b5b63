"""The report as an HTML card: one template, one style sheet, no scripts, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import functools
from typing import TYPE_CHECKING

import jinja2

from flashlearn.report import budgets, cases, measures, tilemap, view

if TYPE_CHECKING:
    from flashlearn.report import Report


def render(report: Report) -> str:
    """The card. Everything that comes from a learner is escaped by the template's autoescape."""
    return _template().render(
        head=view.headline(report),
        cases=cases.cases(report),
        tiles=_tiles(report),
        times=measures.times(report.timing),
        traffic=measures.traffic(report),
        compiled=budgets.compiled(report),
        open=report.passed,
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("flashlearn.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("card.html.j2")


def _tiles(report: Report) -> dict[str, str | int] | None:
    tiles = report.tiles
    if tiles is None:
        return None
    image = report.picture
    return {
        "name": tilemap.name(tiles),
        "caption": tiles.summary,
        "source": "data:image/png;base64," + base64.b64encode(image).decode(),
        "width": int.from_bytes(image[16:20], "big") // 2,  # drawn at twice a screen's resolution
    }
