"""The sentence for a deadlock: who waits for what, and what would fix it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def sentence(waiting: Sequence[Mapping[str, Any]]) -> str:
    """Who waits in which line, what is missing there, and the likeliest reason."""
    alike: dict[str, list[str]] = {}
    for w in waiting:
        alike.setdefault(_held(w), []).append(f"`{w['who']}`")
    held = "; ".join(f"{_listed(names)} in {what}" for what, names in alike.items())
    start = "All partitions wait forever" if not _returned(waiting) else "No waiting partition can go on"
    return f"{start}: {held}.{_hint(waiting)}"


def _hint(waiting: Sequence[Mapping[str, Any]]) -> str:
    partly = [w for w in waiting if 0 < w["pending"] < w["count"]]
    silent = [w for w in waiting if not w["completed"] and not w["arrived"]]
    again = [w for w in silent if not w["first"]]
    gone = _returned(waiting)
    if gone and not partly:
        names = _listed([f"`{name}`" for name in gone[0]["returned"]])
        one = len(gone[0]["returned"]) == 1
        return (
            f" Only {names} {'has' if one else 'have'} arrived on `{gone[0]['array']}`, and "
            f"{'it has' if one else 'they have'} returned."
        )
    if partly:
        w = partly[0]
        return (
            f" In this phase of `{w['barrier']}` {w['count'] - w['pending']} of {w['count']} have arrived: "
            "a partition arrives too rarely, or is itself waiting, or `init` asks for too many arrivals."
        )
    if again:
        return (
            f" No partition has ever arrived on `{again[0]['barrier']}`, and `{again[0]['who']}` waits for "
            "it again. Which partition should arrive there, and does it come to that line?"
        )
    if silent:
        return (
            f" Nothing has arrived on {_each(silent)} so far. Which partition should arrive there first, and "
            "what is it waiting for itself? If the first wait is for a slot that is free from the start, "
            "parity 1 lets it through: the phase before the first counts as complete."
        )
    return ""


def _returned(waiting: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Waits for partitions that have all returned: nobody else has ever arrived on such a barrier."""
    return [w for w in waiting if w.get("helpers") and w["helpers"] == w["returned"]]


def _each(waiting: Sequence[Mapping[str, Any]]) -> str:
    return _listed(list(dict.fromkeys(f"`{w['barrier']}`" for w in waiting)))


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _held(w: Mapping[str, Any]) -> str:
    missing = (
        f"lacks {_arrivals(w['pending'], w['count'])} that line {w['init_line']} asks for"
        if w["pending"]
        else f"lacks {w['expected'] - w['copied']} bytes"
    )
    last = (
        f"last to arrive was `{w['arrived']}` in line {w['arrived_line']}"
        if w["arrived"]
        else "nothing has ever arrived"
    )
    return (
        f"line {w['line']} for phase {w['completed']} of `{w['barrier']}` (parity "
        f"{w['parity']}), which {missing}: {last}"
    )


def _arrivals(pending: int, count: int) -> str:
    if pending < count:
        return f"{pending} of the {count} arrivals"
    return "the one arrival" if count == 1 else f"all {count} arrivals"
