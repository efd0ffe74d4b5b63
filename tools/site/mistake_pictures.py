"""What a declared mistake looks like: the first case that it fails, as a tile map, a timeline or a sentence.

Nothing here shows a line of code: what makes these mistakes are the course's solutions with a fault.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from flashlearn.exercise import Exercise, Kind
from flashlearn.outcome import Outcome, Status

_LINES = re.compile(r" \([a-z]+ in line \d+\)| (?:in|of) line \d+")
_OF_A_LINE = re.compile(r"\bline \d", re.IGNORECASE)
"""A sentence about a line that cannot be seen helps no one."""
_YOURS = re.compile(r"^  yours:\n((?:    .*\n?)+)", re.MULTILINE)
_TITLES = re.compile(r"<title>.*?</title>", re.DOTALL)
_LANES = re.compile(r"(?:(All)|(\d+) of the) (\d+) lanes (?:is|are|hit)")


@dataclass(frozen=True)
class Seen:
    """A mistake as a check meets it: in which case, how that ended, and a picture.

    `picture` is a file's content and `kind` its format; `description` says what it shows. `numbers` are what
    a wrong formula gives in this case. Either is empty where there is none.
    """

    exercise: str
    mistake: str
    status: str
    case: str = ""
    message: str = ""
    picture: bytes = b""
    kind: str = ""
    description: str = ""
    numbers: str = ""


def seen(chosen: Iterable[tuple[str, str]], workers: int | None = None) -> Iterator[Seen]:
    """Each of the `chosen` (exercise, mistake), in their order; worked out in child processes."""
    pairs = list(chosen)
    with ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        yield from pool.map(_look, pairs, chunksize=8)


def _look(pair: tuple[str, str]) -> Seen:
    import torch

    from flashlearn.lessons import find

    torch.set_num_threads(1)
    name, mistake = pair
    exercise = find(name)
    outcome = _first_failing(exercise, mistake)
    if outcome is None:
        return Seen(name, mistake, exercise.explained.mistakes[mistake].status.value)
    where = {"status": outcome.status.value, "case": outcome.case.name}
    if exercise.kind is Kind.SYMBOLIC:
        numbers = _YOURS.search(outcome.detail)
        drawn = {"numbers": textwrap.dedent(numbers[1]) if numbers else ""}
    else:
        drawn = _picture(exercise, mistake, outcome)
    # a map of the numbers says more than the largest of them
    message = "" if drawn.get("kind") == "png" else _plain(outcome)
    return Seen(name, mistake, **where, message=message, **drawn)


def _first_failing(exercise: Exercise, mistake: str) -> Outcome | None:
    """The first case that is answered as declared; a formula in place of a kernel has right cases, too."""
    from flashlearn.course.answers import mistake_function
    from flashlearn.judging import symbolic
    from flashlearn.judging.cases import run_observed
    from flashlearn.running.answer import answering

    function = mistake_function(exercise, mistake)
    declared = exercise.explained.mistakes[mistake].status
    if exercise.kind is Kind.SYMBOLIC:
        outcomes = symbolic.run_symbolic(exercise, answering(exercise, function))
        return next((outcome for outcome in outcomes if outcome.status is declared), None)
    for case in exercise.cases:
        if not case.gpu:
            outcome = run_observed(exercise, function, case)
            if outcome.status is declared:
                return outcome
    return None


def _picture(exercise: Exercise, mistake: str, outcome: Outcome) -> dict[str, bytes | str]:
    from flashlearn.report import tile_picture
    from flashlearn.report.tilemap import first_wrong

    if (tiles := first_wrong(exercise, [outcome])) is not None:
        words = f"Map of {tiles.title}. {tiles.caption}"
        return {"picture": tile_picture.png(tiles), "kind": "png", "description": words}
    if outcome.fault[:1] == ("synchronisation",):
        return _timeline(exercise, mistake, outcome)
    if found := _LANES.search(outcome.message):
        lanes = int(found[3])
        outside = lanes if found[1] else int(found[2])
        words = f"{outside} of {lanes} lanes are outside of the tensor"
        return {"picture": _lanes(outside, lanes).encode(), "kind": "svg", "description": words}
    return {}


def _timeline(exercise: Exercise, mistake: str, outcome: Outcome) -> dict[str, bytes | str]:
    """The timeline of the program with the fault, up to there."""
    from flashlearn.course.answers import mistake_function
    from flashlearn.tracing import TraceError, timeline_svg, trace

    inputs = exercise.inputs(outcome.case, outcome.case.generator())
    try:
        timeline = trace(mistake_function(exercise, mistake), *inputs.values()).timeline
    except TraceError:
        return {}
    if timeline is None:
        return {}
    drawn = _TITLES.sub("", timeline_svg.svg(timeline.scene))
    words = "Timeline of the program, up to the fault: a row for each partition, hollow boxes where it waits"
    return {"picture": drawn.encode(), "kind": "svg", "description": words}


def _lanes(outside: int, lanes: int) -> str:
    """The share of a block's lanes that have no element, as a bar."""
    width, height = 480, 26
    cut = round(width * (1 - outside / lanes))
    inner = f'<rect width="{cut}" height="{height}" fill="#3a78c9"/>' if cut else ""
    outer = (
        f'<rect x="{cut + 1}" y="1" width="{width - cut - 2}" height="{height - 2}" fill="none" '
        'stroke="#b8602a" stroke-width="2" stroke-dasharray="5 3"/>'
    )
    label = f"inside: {lanes - outside}, outside: {outside} of {lanes} lanes"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="48" viewBox="0 0 {width} 48" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#797979">{inner}{outer}'
        f'<text x="0" y="43">{label}</text></svg>'
    )


def _plain(outcome: Outcome) -> str:
    """What happened, without lines of code and their numbers: the first sentence, and how many lanes."""
    message = _LINES.sub("", outcome.message)
    if outcome.status is Status.WRONG:
        return message.replace(" At the point below, ", " At one point, ")
    first, *others = re.split(r"(?<=[.])\s+", message)
    if outcome.fault[:1] == ("synchronisation",) and ": " in first:
        first = f"{first.partition(': ')[0]}."
    if _OF_A_LINE.search(first):
        return ""
    return " ".join([first, *(one for one in others[:1] if _LANES.search(one))])
