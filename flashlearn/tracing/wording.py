"""What a trace says, for text and HTML alike: headline, table, and a sentence for each step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from flashlearn.explaining.findings.counts import all_of
from flashlearn.report.units import byte_size, plural

if TYPE_CHECKING:
    from flashlearn.interpreter.observers.access_recorder import Program, Tally
    from flashlearn.tracing.data import ProgramTrace
    from flashlearn.tracing.program_timeline import ProgramTimeline
    from flashlearn.tracing.steps import Step

DOES = {"read": "reads", "write": "writes", "update": "updates"}
DONE = {"read": "read", "write": "written", "update": "updated"}
WAITS_HEAD = ("partition", "line", "", "for", "times", "stalled", "cycles", "of all")
"""The columns of the table of waits of a Gluon kernel."""
TABLE_HEAD = ("tensor", "", "requested", "each once", "again", "masked out")
"""The columns of the table of totals; the last four come twice, for the program and for the launch."""


def programs(grid: Program) -> str:
    """A grid by the sizes that are in use: `4 × 2`."""
    dimensions = max((d + 1 for d in range(3) if grid[d] != 1), default=1)
    return " × ".join(str(n) for n in grid[:dimensions])


def headline(trace: ProgramTrace) -> str:
    """Which program of how many, and how often it goes to memory."""
    count = math.prod(trace.grid)
    which = f"program {trace.program}"
    of = f" of {programs(trace.grid)} programs" if count > 1 else ", the only one"
    accesses = sum(tally.accesses for tally in trace.totals)
    requested = sum(tally.requested for tally in trace.totals)
    if not accesses:
        return f"{which}{of}: it reads and writes nothing"
    return f"{which}{of}: {plural(accesses, 'step')}, {byte_size(requested)} requested"


def remarks(trace: ProgramTrace) -> list[str]:
    """What else a reader must know: other launches, what ended the call, what is not shown."""
    found = []
    if trace.sentence:
        where = ""
        if trace.place is not None:
            where = f" (line {trace.place.line}"
            if trace.place.program is not None:
                where += f", program {trace.place.program}"
            where += ")"
        found.append(
            f"The call ended early{where}: {trace.sentence.rstrip('.')}. What ran before it is shown."
        )
    if trace.note:
        found.append(trace.note)
    if len(trace.launches) > 1:
        names = ", ".join(f"{i} {name}" for i, name in enumerate(trace.launches))
        found.append(
            f"This is launch {trace.number} of the call; the launches were {names}. launch=… selects another."
        )
    if trace.left_out:
        found.append(
            f"The program continues for {plural(trace.left_out, 'step')} that are counted in the table, "
            "but not recorded one by one."
        )
    return found


def timeline(program: ProgramTimeline) -> list[str]:
    """What the timeline says in words."""
    found = [f"By the timing model it takes {round(program.cycles):,} cycles.", *program.sentences]
    if program.dropped:
        found.append(f"The program continues for {plural(program.dropped, 'event')} that are not recorded.")
    return found


def waits(program: ProgramTimeline) -> list[tuple[str, ...]]:
    """A row for each line that stalled: partition, line, awaited barrier, how often, how long."""
    whole = max(program.cycles, 1.0)
    return [
        (w.partition, str(w.line), w.text, w.awaited, str(w.times), str(w.stalls), f"{round(w.cycles):,}",
         share(w.cycles / whole))
        for w in program.waits
        if w.stalls
    ]  # fmt: skip


def share(value: float) -> str:
    """A share in percent; 0 % and 100 % only where it is exactly that."""
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    return "< 1%" if value < 0.01 else "> 99%" if value > 0.99 else f"{value:.0%}"


def bytes_of(step: Step) -> str:
    """The bytes of a step, and how many of them are new to the program."""
    asked, done = byte_size(step.requested), DONE[step.verb]
    if step.requested == 0:
        return "no bytes"
    if step.new == step.requested:
        return f"{asked}, none {done} before"
    if step.new == 0:
        return f"{asked}, all {done} before"
    return f"{asked}, {byte_size(step.new)} of it not {done} before"


def masked_of(step: Step) -> str:
    """How many lanes are masked out."""
    lanes = plural(step.lanes, "lane")
    if step.masked == 0:
        return lanes if step.lanes == 1 else f"{all_of(step.lanes, 'lane')} take part"
    if step.masked == step.lanes:
        return f"{all_of(step.lanes, 'lane')} masked out"
    return f"{step.masked} of {lanes} masked out"


def scattered(step: Step) -> str:
    """A warning where not all elements inside the box were touched."""
    return "" if step.tile is None or step.tile.filled else "some elements inside this box"


def table(trace: ProgramTrace) -> list[tuple[str, ...]]:
    """One row per tensor and verb: the totals of this program, then of the whole launch."""
    rows = []
    for key, whole in trace.launch.tallies.items():
        own = trace.run.tallies.get(key)
        rows.append((whole.tensor, DOES[whole.verb], *_four(own), *_four(whole)))
    return rows


def _four(tally: Tally | None) -> tuple[str, str, str, str]:
    if tally is None:
        return ("—", "—", "—", "—")
    return (
        byte_size(tally.requested),
        byte_size(tally.unique),
        share(tally.again),
        share(tally.masked_share),
    )
