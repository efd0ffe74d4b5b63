"""The card for terminals and `print`: the same words as in HTML, a hundred characters wide."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flashlearn.report.budgets import CompiledTable
from flashlearn.report.card import Card
from flashlearn.report.cases import CaseRow, CaseTable
from flashlearn.report.cautions import Note
from flashlearn.report.differences import PAGE
from flashlearn.report.error_map import ErrorMap
from flashlearn.report.evidence import Evidence
from flashlearn.report.small_output import SmallOutput
from flashlearn.report.source import Excerpt
from flashlearn.report.tile_values import Chunk, TileValues
from flashlearn.report.times import Times
from flashlearn.report.traffic import Table as Figures
from flashlearn.report.traffic import TrafficTable
from flashlearn.report.verdict import Verdict

WIDTH = 100
TONES = {"pass": "bold green", "fail": "bold red", "calm": "bold"}
BAR = 12  # characters of a case's error bar; the limit is in the middle
QUIET = "dim"
LABELS = ("tensor", "")  # columns of words, kept whole


def render(card: Card, width: int = WIDTH, colour: bool = False) -> str:
    """The whole card as text; without `colour` there are no escape codes in it."""
    return _printed(_parts(card), width, colour)


def render_map(error_map: ErrorMap) -> str:
    """A map alone."""
    return _printed([_map(error_map)], WIDTH, False)


def render_values(values: TileValues) -> str:
    """A tile's values: got, expected and difference side by side."""
    lines = [values.title, *(f"  {sentence}" for sentence in values.sentences)]
    for chunk in values.chunks:
        lines += ["", *_side_by_side(chunk)]
    lines += ["", f"  {values.legend}"] if values.legend else []
    lines += ["", "  Its worst elements", *(f"  {line}" for line in values.worst)] if values.worst else []
    return "\n".join(line.rstrip() for line in lines)


def _printed(parts: list[RenderableType], width: int, colour: bool) -> str:
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
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")


def _parts(card: Card) -> list[RenderableType]:
    """What a learner needs, and then everything else."""
    parts = _verdict(card.verdict)
    parts += _evidence(card.evidence) if card.evidence else []
    parts += [_cases(card.cases, card.tolerance)] if card.cases is not None else []
    parts += [_numbers(card.numbers)] if card.numbers is not None else []
    parts += [_map(card.error_map)] if card.error_map is not None else []
    parts += [_times(card.times)] if card.times is not None else []
    parts += [_traffic(card.traffic)] if card.traffic is not None else []
    parts += [_compiled(card.compiled, bool(card.differences))] if card.compiled is not None else []
    parts += [_note(note) for note in card.cautions]
    return [*parts, *([Text(""), _indent(card.verdict.footer, QUIET)] if card.verdict.footer else [])]


def _verdict(verdict: Verdict) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(verdict.stale, "bold"), Text("")] if verdict.stale else []
    parts.append(_title(verdict))
    lines = (verdict.headline, *verdict.notes, verdict.highlight, verdict.signature)
    parts += [_indent(line) for line in lines if line]
    where, hint = verdict.where, verdict.hint
    parts += [_section("Where", where.title, *_source(where))] if where else []
    parts += [_section("Next", verdict.next_step)] if verdict.next_step else []
    return [*parts, _section("Hint", f"{hint.call}   {hint.text}")] if hint else parts


def _title(verdict: Verdict) -> Text:
    first = (f"{verdict.glyph} {verdict.word}", TONES[verdict.tone])
    title = Text.assemble(first, "   ", (verdict.exercise, "bold"))
    if verdict.title:
        title.append(f"   {verdict.title}", QUIET)
    if verdict.demo:
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


def _source(where: Excerpt) -> list[RenderableType]:
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


def _evidence(evidence: Evidence) -> list[RenderableType]:
    lines = [line for line in (evidence.observation, evidence.support) if line]
    return [_section("Evidence", "", *map(Text, (*lines, *evidence.detail.splitlines())))]


def _note(note: Note) -> RenderableType:
    below = [Text(note.where.title), *_source(note.where)] if note.where else []
    return _section("Note", note.sentence, *below)


def _cases(table: CaseTable, tolerance: str) -> RenderableType:
    grid = _grid()
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
    for row in table.shown:
        verdict = Text(f"{row.glyph} {row.word}".strip(), TONES[row.tone].replace("bold ", ""))
        cells: list[RenderableType] = [verdict, row.case]
        cells += [row.sizes, row.dtype] if table.sizes else []
        cells += [row.output] if table.outputs else []
        cells += [row.error, row.allowed, _bar(row)] if table.numbers else []
        grid.add_row(*cells)
    below = [grid, *(Text(f"{row.case or row.output}: {row.note}") for row in table.shown if row.note)]
    below += [Text(f"and {table.fold_title}", QUIET)] if table.folded else []
    below += [Text(""), Text(tolerance, QUIET)] if tolerance else []
    return _section("Cases", f"{''.join(dot.glyph for dot in table.strip)}  {table.summary}", *below)


def _bar(row: CaseRow) -> str:
    if row.fill is None:
        return ""
    filled, half = round(row.fill * BAR), BAR // 2
    bar = ("█" * filled).ljust(BAR, "·")
    return f"{bar[:half]}|{bar[half:]} {row.ratio}"


def _numbers(output: SmallOutput) -> RenderableType:
    lines = [line for chunk in output.chunks for line in _side_by_side(chunk)]
    below = (*(Text(line, no_wrap=True) for line in lines), Text(output.legend, QUIET))
    return _section("Numbers", f"{output.title}. {output.summary}", *below)


def _side_by_side(chunk: Chunk) -> list[str]:
    """A chunk's lines: what each column is, and a line for each of its rows."""
    parts = [[row.got for row in chunk.rows], [row.expected for row in chunk.rows]]
    parts.append([row.difference for row in chunk.rows])
    label_width = max(len(row.label) for row in chunk.rows) + 2
    blocks = []
    for name, block in zip(("got", "expected", "difference"), parts, strict=True):
        head = [f"{c} " if chunk.marked and name != "expected" else c for c in chunk.columns]
        wide = max(len(cell) for row in [*block, head] for cell in row) + 1
        body = ["".join(cell.rjust(wide) for cell in row) for row in (head, *block)]
        size = max(len(body[0]), len(name) + 1)
        title = f" {name}".ljust(size) if len(head) > 1 else name.rjust(size)
        blocks.append([title, *(line.rjust(size) for line in body)])
    labels = ["", "", *(row.label for row in chunk.rows)]
    lines = [" ".join([label.rjust(label_width), *row]) for label, *row in zip(labels, *blocks, strict=True)]
    return [line for line in lines if line.strip()]


def _map(error_map: ErrorMap) -> RenderableType:
    ruler, *rows, legend = error_map.characters
    lines = [Text(ruler), *(Text(row, no_wrap=True) for row in rows), Padding(legend.strip(), (0, 0, 0, 2))]
    return _section("Error", f"{error_map.title}. {error_map.caption}", *lines)


def _times(times: Times) -> RenderableType:
    lines = [f"{bar.label:<20} {bar.time:>8}" for bar in times.bars]
    return _section("Time", times.title, *map(Text, (*lines, *times.sentences)))


def _traffic(traffic: TrafficTable) -> RenderableType:
    title = f"bytes between memory and the programs, case {traffic.case}"
    return _section("Traffic", title, *_figures(traffic.table))


def _compiled(compiled: CompiledTable, differs: bool) -> RenderableType:
    below: list[RenderableType] = list(_figures(compiled.table)) if compiled.table else []
    for refusal in compiled.refusals:
        below.append(Text(f"{refusal.device}: {refusal.error}"))
        below += [Text(refusal.where.title), *_source(refusal.where)] if refusal.where else []
    if differs:
        below.append(Text(f"Where a GPU may differ from this check: {PAGE}", QUIET))
    summary = "" if compiled.state == "ready" else compiled.summary
    if compiled.state == "waiting":
        summary += " Print the report again to see the result."
    return _section("On a GPU", summary, *below)


def _figures(table: Figures) -> list[RenderableType]:
    grid = _grid()
    for name in table.head:
        label = name in LABELS
        grid.add_column(name, justify="left" if label else "right", no_wrap=label)
    for row in table.rows:
        grid.add_row(*row)
    return [grid, *map(Text, table.notes)]


def _grid() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=QUIET)
