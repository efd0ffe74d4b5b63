"""What each partition of a Gluon program waited for, in cycles of the timing model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.observation import TimelineEvent
from flashlearn.tracing.timeline_rows import WAITS, partitions, ring_of

AWAITED = {"wgmma wait": "its products", "store wait": "its copies out", "copy wait": "its cp.async copies"}


@dataclass(frozen=True)
class WaitSummary:
    """The waits of one partition in one line for one barrier or ring of barriers, the `awaited` one.

    `cycles` is their total duration, `times` their number, `stalls` how many of them took time.
    """

    partition: str
    awaited: str
    line: int
    text: str
    cycles: float
    times: int
    stalls: int


def waits(events: Sequence[TimelineEvent]) -> list[WaitSummary]:
    """All waits: partitions in the order of their numbers, in each what took longest first."""
    names = partitions(events)
    groups: dict[tuple, list[TimelineEvent]] = {}
    for event in events:
        if event.what in WAITS:
            line = event.place.line if event.place else 0
            what = AWAITED.get(event.what) or ring_of(event.barrier)
            groups.setdefault((event.index, line, what), []).append(event)
    found = []
    for (index, line, what), group in groups.items():
        barriers = dict.fromkeys(event.barrier for event in group)
        awaited = what if len(barriers) > 1 else (group[0].barrier or what)
        text = group[0].place.text.strip() if group[0].place else ""
        cycles = sum(event.end - event.begin for event in group)
        stalls = sum(event.end > event.begin for event in group)
        found.append((index, WaitSummary(names[index], awaited, line, text, cycles, len(group), stalls)))
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], -pair[1].cycles))]


def sentences(events: Sequence[TimelineEvent]) -> list[str]:
    """For each partition: how long it waited of how many cycles, where most of it, and for what."""
    whole = max((event.end for event in events), default=0.0)
    found = waits(events)
    result = []
    names = partitions(events)
    for name in names.values():
        who = f"Partition {name}" if len(names) > 1 else name
        own = [one for one in found if one.partition == name]
        total = sum(one.cycles for one in own)
        if not own or round(total) == 0:
            result.append(f"{who} never waited.")
            continue
        worst = own[0]
        at = f"at line {worst.line} for {worst.awaited}"
        most = (
            f"all of it {at}"
            if round(worst.cycles) == round(total)
            else f"{'most' if worst.cycles > total / 2 else 'the largest part'} of it, "
            f"{count(worst.cycles)}, {at}"
        )
        result.append(f"{who} waited {count(total)} of {count(whole)} cycles, {most}.")
    return result


def count(cycles: float) -> str:
    """A number of cycles: 12,300."""
    return f"{round(cycles):,}"
