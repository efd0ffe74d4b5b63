"""A trace as HTML: a picture and a table that need no script, and a slider where scripts run.

Nothing is fetched from anywhere. The script and its data are part of the output, so it works in a
running JupyterLab and in a file that nbconvert exported. Everything that comes from a learner is escaped
by the template, and put on the page as text by the script.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import jinja2

from flashlearn.report.units import plural
from flashlearn.tracing import tile_maps, wording

if TYPE_CHECKING:
    from flashlearn.tracing.data import ProgramTrace
    from flashlearn.tracing.steps import Source, Step

STEP_LIMITS = (250, 120, 60, 30)
"""Steps of the slider: the first of these limits that keeps the page small."""

MAX_CHARACTERS = 140_000
"""Of a page: traces are saved in the notebook."""


def render(trace: ProgramTrace) -> str:
    """The trace as one self-contained element."""
    for limit in STEP_LIMITS:
        page = _page(trace, trace.steps[:limit])
        if len(page) <= MAX_CHARACTERS or len(trace.steps) <= STEP_LIMITS[-1]:
            break
    return page


def _page(trace: ProgramTrace, steps: tuple[Step, ...]) -> str:
    drawn = tile_maps.maps(trace, steps)
    data = json.dumps(_data(trace, steps), separators=(",", ":")).replace("<", "\\u003c")
    identity = "flt" + hashlib.sha256(data.encode()).hexdigest()[:12]
    image = tile_maps.svg(drawn, identity) if drawn else ""
    return _template().render(
        id=identity,
        kernel=trace.kernel,
        headline=wording.headline(trace),
        remarks=wording.remarks(trace) + _cut(trace, steps),
        image=base64.b64encode(image.encode()).decode(),
        alt=_alt(steps),
        verbs=[
            (wording.DONE[v], tile_maps.COLOURS[v]) for v in wording.DOES if any(s.verb == v for s in steps)
        ],
        hatched=any(step.masked for step in steps),
        timeline=trace.timeline,
        timeline_sentences=wording.timeline(trace.timeline) if trace.timeline else [],
        waits=wording.waits(trace.timeline) if trace.timeline else [],
        waits_head=wording.WAITS_HEAD,
        rows=wording.table(trace),
        head=wording.TABLE_HEAD,
        count=math.prod(trace.grid),
        data=data,
    )


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("flashlearn.tracing"), jinja2.PackageLoader("flashlearn.report")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("trace.html.j2")


def _data(trace: ProgramTrace, steps: tuple[Step, ...]) -> dict[str, Any]:
    """What the script needs: per step the source's number, the line, and the sentence in two parts."""
    numbers = {source.function: i for i, source in enumerate(trace.sources)}
    sentences: dict[str, int] = {}

    def number_of(sentence: str) -> int:
        return sentences.setdefault(sentence, len(sentences))

    rows = [
        (
            numbers.get(step.function, -1),
            step.line,
            number_of(wording.DOES[step.verb]),
            step.where,
            number_of(
                ", ".join(
                    filter(None, (wording.bytes_of(step), wording.masked_of(step), wording.scattered(step)))
                )
            ),
        )
        for step in steps
    ]
    return {
        "steps": rows,
        "sentences": list(sentences),
        "sources": [_source(source) for source in trace.sources],
    }


def _source(source: Source) -> dict[str, Any]:
    """Rows of first line, last line, text; withheld lines are one row without text."""
    rows: list[list[Any]] = []
    for number, text in enumerate(source.lines, start=source.first):
        if text is None and rows and rows[-1][2] is None:
            rows[-1][1] = number
        else:
            rows.append([number, number, text])
    return {"name": source.function, "rows": rows}


def _cut(trace: ProgramTrace, steps: tuple[Step, ...]) -> list[str]:
    found = []
    if len(trace.steps) > len(steps):
        all_ = plural(len(trace.steps) + trace.left_out, "step")
        found.append(f"The picture shows the first {len(steps)} of {all_}; the table counts all of them.")
    slices = {(s.tensor, *(low for low, _ in s.tile.touched[:-2])) for s in steps if s.tile is not None}
    if len(slices) > tile_maps.MOST_MAPS:
        found.append(f"The picture has room for the first {tile_maps.MOST_MAPS} of {len(slices)} maps.")
    return found


def _alt(steps: tuple[Step, ...]) -> str:
    """What the picture shows, as text for screen readers."""
    shown = "; ".join(f"{s.number} {wording.DOES[s.verb]} {s.where}" for s in steps[:12])
    return f"Tiles in the order of access: {shown}{' and so on' if len(steps) > 12 else ''}."
