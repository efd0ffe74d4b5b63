"""The report as an HTML card: one template, one style sheet, no scripts, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import functools
import re
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from flashlearn.report import (
    allowance,
    budgets,
    cases,
    differences,
    text,
    tile_picture,
    tilemap,
    times,
    tooltips,
    traffic,
    verdict,
)
from flashlearn.report.tilemap import TileMap

if TYPE_CHECKING:
    from flashlearn.report import Report
    from flashlearn.report.tile_values import Dump

SHORT = 6  # lines: so much is shown unfolded, where no line of code is


def render(report: Report) -> str:
    """The card. Everything that comes from a learner is escaped by the template's autoescape."""
    head, evidence = verdict.headline(report), verdict.evidence(report)
    alone = head.where is None and head.tone == "fail"  # then there is room on the screen
    lines = evidence.detail.count("\n") + bool(evidence.detail)
    return _template("card").render(
        head=head,
        evidence=evidence,
        open_evidence=alone and 0 < lines <= SHORT,
        cases=cases.cases(report),
        allowance=allowance.reason(report),
        small=report.small,
        open_small=alone and report.small is not None and len(report.small.chunks[0].rows) <= SHORT,
        marks=text.MARKS,
        tiles=_tiles(report) if report.small is None else None,
        times=times.times(report),
        traffic=traffic.traffic(report),
        compiled=budgets.compiled(report),
        differences=(differences.DIFFERENCES, differences.PAGE) if report.passed else None,
        cautions=verdict.cautions(report),
    )


def render_map(tiles: TileMap, right: bool) -> str:
    """A card with nothing but the map."""
    return _template("shown").render(tiles=map_of(tiles, tile_picture.png(tiles)), right=right)


def render_dump(dump: Dump) -> str:
    """A card with a tile's values."""
    return _template("dump").render(dump=dump, marks=text.MARKS)


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
    return environment.get_template(f"{name}.html.j2")


def coded(sentence: str) -> Markup:
    """The sentence, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(sentence))))


def _tiles(report: Report) -> dict[str, Any] | None:
    return map_of(report.tiles, report.picture) if report.tiles is not None else None


def map_of(tiles: TileMap, image: bytes) -> dict[str, Any]:
    """What the template needs of a map: the picture as PNG, and the numbers under the mouse."""
    return {
        "name": tilemap.name(tiles),
        "output": tiles.output,
        "caption": tiles.caption,
        "source": "data:image/png;base64," + base64.b64encode(image).decode(),
        "width": tile_picture.width(image),
        "areas": tooltips.areas(tiles),
    }
