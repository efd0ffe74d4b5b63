"""The report for terminals and `print`: the card's words, a hundred characters wide."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flashlearn.report import allowance, budgets, cases, differences, tilemap, times, traffic, verdict
from flashlearn.report.character_map import characters
from flashlearn.report.columns import side_by_side
from flashlearn.report.source import Where

if TYPE_CHECKING:
    from flashlearn.report import Report
    from flashlearn.report.small_output import Small

WIDTH = 100
TONES = {"pass": "bold green", "fail": "bold red", "calm": "bold"}
BAR = 12  # characters of a case's error bar; the limit stands in the middle
QUIET = "dim"
MARKS = ("✗", "?")  # behind a number of a tile that is wrong, or that nobody wrote
LABELS = ("tensor", "")  # columns of words, kept whole


def render(report: Report, width: int = WIDTH, colour: bool = False) -> str:
    """The whole report as text; without `colour` there are no escape codes in it."""
    return _written(_parts(report), width, colour)


def render_map(tiles: tilemap.TileMap) -> str:
    """A map alone."""
    return _written([_map(tiles)], WIDTH, False)


def _written(parts: list[RenderableType], width: int, colour: bool) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        force_jupyter=False,  # else rich shows each part in the notebook instead of writing it here
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for part in parts:
        console.print(part)
    written = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.splitlines()).strip("\n")


def _parts(report: Report) -> list[RenderableType]:
    """What a learner needs, and then everything else."""
    head = verdict.headline(report)
    parts: list[RenderableType] = [Text(head.stale, "bold"), Text("")] if head.stale else []
    parts.append(_title(head))
    said = (head.sentence, *head.notes, head.figure, head.signature)
    parts += [_indent(line) for line in said if line]
    parts += [_section("Where", head.where.title, *_source(head.where))] if head.where else []
    parts += [_section("Next", head.next_step)] if head.next_step else []
    parts += [_section("Hint", f"{head.hint.call}   {head.hint.words}")] if head.hint else []
    parts += _evidence(verdict.evidence(report))
    parts += _cases(report)
    parts += _errors(report)
    parts += _measures(report)
    parts += [_note(note) for note in verdict.cautions(report)]
    return [*parts, *([Text(""), _indent(head.footer, QUIET)] if head.footer else [])]


def _evidence(found: verdict.Grounds) -> list[RenderableType]:
    if not found:
        return []
    said = [Text(line) for line in (found.seen, found.support) if line]
    return [_section("Evidence", "", *said, *(Text(line) for line in found.detail.splitlines()))]


def _errors(report: Report) -> list[RenderableType]:
    """The numbers of a small output, the map of another one."""
    if report.small is not None:
        return [_small(report.small)]
    return [_map(report.tiles)] if report.tiles is not None else []


def _small(shown: Small) -> RenderableType:
    lines = [line for chunk in shown.chunks for line in side_by_side(chunk)]
    below = (*(Text(line, no_wrap=True) for line in lines), Text(shown.legend, QUIET))
    return _section("Numbers", f"{shown.title}. {shown.summary}", *below)


def _note(note: verdict.Note) -> RenderableType:
    below = [Text(note.where.title), *_source(note.where)] if note.where else []
    return _section("Note", note.sentence, *below)


def _title(head: verdict.Headline) -> Text:
    title = Text.assemble((f"{head.glyph} {head.word}", TONES[head.tone]), "   ", (head.exercise, "bold"))
    if head.title:
        title.append(f"   {head.title}", QUIET)
    if head.demo:
        title.append("   (demonstration, not recorded)", QUIET)
    return title


def _indent(line: str, style: str = "") -> RenderableType:
    return Padding(Text(line, style), (0, 0, 0, 2))


def _section(name: str, sentence: str, *below: RenderableType) -> RenderableType:
    """A named part: the name at the left, a sentence beside it, everything else under the sentence."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=9, style="bold")
    grid.add_column()
    body = ([Text(sentence)] if sentence else []) + list(below)
    grid.add_row(Text(name), Group(*body))
    return Padding(grid, (1, 0, 0, 2))


def _source(where: Where) -> list[RenderableType]:
    wide = max((len(str(line.number)) for line in where.lines), default=0)
    return [
        Text(
            f"{'>' if line.marked else ' '} {line.number:>{wide}}  {line.text}",
            "bold" if line.marked else QUIET,
            no_wrap=True,
            overflow="ellipsis",
        )
        for line in where.lines
    ]


def _cases(report: Report) -> list[RenderableType]:
    table = cases.cases(report)
    if table is None:
        return []
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=QUIET)
    grid.add_column("", no_wrap=True)
    grid.add_column("case")
    if table.sizes:
        grid.add_column("sizes")
        grid.add_column("dtype")
    if table.outputs:
        grid.add_column("output", min_width=table.output_width)
    if table.numbers:
        grid.add_column("error", justify="right")
        grid.add_column("allowed", justify="right")
        grid.add_column("error / allowed", no_wrap=True)
    notes = [row for row in table.shown if row.note]
    for row in table.shown:
        verdict = Text(f"{row.glyph} {row.word}".strip(), TONES[row.tone].replace("bold ", ""))
        cells: list[RenderableType] = [verdict, row.case]
        cells += [row.sizes, row.dtype] if table.sizes else []
        cells += [row.output] if table.outputs else []
        cells += [row.error, row.allowed, _bar(row)] if table.numbers else []
        grid.add_row(*cells)
    below = [grid] + [Text(f"{row.case or row.output}: {row.note}") for row in notes]
    if table.folded:
        below.append(Text(f"and {table.fold_title}", QUIET))
    why = allowance.reason(report)
    below += [Text(""), Text(why, QUIET)] if why else []
    return [_section("Cases", f"{''.join(dot.glyph for dot in table.strip)}  {table.summary}", *below)]


def _bar(row: cases.CaseRow) -> str:
    if row.fill is None:
        return ""
    filled, half = round(row.fill * BAR), BAR // 2
    drawn = ("█" * filled).ljust(BAR, "·")
    return f"{drawn[:half]}|{drawn[half:]} {row.ratio}"


def _map(tiles: tilemap.TileMap) -> RenderableType:
    ruler, *rows, legend = characters(tiles)
    lines = [Text(ruler), *(Text(row, no_wrap=True) for row in rows), Padding(legend.strip(), (0, 0, 0, 2))]
    return _section("Error", f"{tilemap.name(tiles)}. {tiles.caption}", *lines)


def _measures(report: Report) -> list[RenderableType]:
    parts: list[RenderableType] = []
    measured = times.times(report)
    if measured is not None:
        lines = [f"{bar.label:<20} {bar.words:>8}" for bar in measured.bars]
        parts.append(
            _section("Time", measured.title, *(Text(line) for line in (*lines, *measured.sentences)))
        )
    moved = traffic.traffic(report)
    if moved is not None:
        parts.append(
            _section("Traffic", f"bytes between memory and the programs, case {moved[1]}", *_table(moved[0]))
        )
    compiled = budgets.compiled(report)
    if compiled is not None:
        below: list[RenderableType] = list(_table(compiled.table)) if compiled.table else []
        for refusal in compiled.refusals:
            below.append(Text(f"{refusal.device}: {refusal.error}"))
            below += [Text(refusal.where.title), *_source(refusal.where)] if refusal.where else []
        words = (
            f"{compiled.words} Print the report again to see it."
            if compiled.state == "waiting"
            else compiled.words
            if compiled.state == "unknown"
            else ""
        )
        if report.passed:
            below.append(Text(f"Where a GPU may differ from this check: {differences.PAGE}", QUIET))
        parts.append(_section("On a GPU", words, *below))
    return parts


def _table(table: traffic.Table) -> list[RenderableType]:
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=QUIET)
    for name in table.head:
        label = name in LABELS
        grid.add_column(name, justify="left" if label else "right", no_wrap=label)
    for row in table.rows:
        grid.add_row(*row)
    return [grid, *(Text(note) for note in table.notes)]
