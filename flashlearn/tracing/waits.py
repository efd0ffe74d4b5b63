"""What each partition of a Gluon program waited for, counted in cycles of the observer's model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.interpreter.gluon.timeline import TimelineEvent
from flashlearn.tracing.timeline_rows import WAITS, partitions, ring_of

FOR = {"wgmma wait": "its products", "store wait": "its copies out", "copy wait": "its cp.async copies"}


@dataclass(frozen=True)
class WaitedFor:
    """The waits of one partition in one line for one barrier, or ring of barriers: `what` names it.

    `cycles` is how long they took together, `times` how many there were, `held` how many of them had to wait.
    """

    partition: str
    what: str
    line: int
    text: str
    cycles: float
    times: int
    held: int


def waits(events: Sequence[TimelineEvent]) -> list[WaitedFor]:
    """All waits: partitions in the order of their numbers, in each what took longest first."""
    names = partitions(events)
    groups: dict[tuple, list[TimelineEvent]] = {}
    for event in events:
        if event.what in WAITS:
            line = event.place.line if event.place else 0
            what = FOR.get(event.what) or ring_of(event.barrier)
            groups.setdefault((event.index, line, what), []).append(event)
    found = []
    for (index, line, what), group in groups.items():
        barriers = dict.fromkeys(event.barrier for event in group)
        called = what if len(barriers) > 1 else (group[0].barrier or what)
        text = group[0].place.text.strip() if group[0].place else ""
        cycles = sum(event.end - event.begin for event in group)
        held = sum(event.end > event.begin for event in group)
        found.append((index, WaitedFor(names[index], called, line, text, cycles, len(group), held)))
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], -pair[1].cycles))]


def sentences(events: Sequence[TimelineEvent]) -> list[str]:
    """For each partition: how long it waited of how many cycles, where most of it, and for what."""
    whole = max((event.end for event in events), default=0.0)
    found = waits(events)
    said = []
    names = partitions(events)
    for name in names.values():
        who = f"Partition {name}" if len(names) > 1 else name
        own = [one for one in found if one.partition == name]
        total = sum(one.cycles for one in own)
        if not own or round(total) == 0:
            said.append(f"{who} never waited.")
            continue
        worst = own[0]
        at = f"at line {worst.line} for {worst.what}"
        most = (
            f"all of it {at}"
            if round(worst.cycles) == round(total)
            else f"{'most' if worst.cycles > total / 2 else 'the largest part'} of it, "
            f"{count(worst.cycles)}, {at}"
        )
        said.append(f"{who} waited {count(total)} of {count(whole)} cycles, {most}.")
    return said


def count(cycles: float) -> str:
    """A number of cycles: 12,300."""
    return f"{round(cycles):,}"
