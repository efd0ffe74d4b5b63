"""What a Gluon kernel can get wrong about time, as plain data, and the exception that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashlearn.interpreter.errors import LaunchError
from flashlearn.outcome import Place


@dataclass(frozen=True)
class SyncFault:
    """A fault by its kind, its facts and the lines it is about: where it showed first, then the cause's.

    The sentence is made by `sync_sentences.sentence` and nowhere else.
    """

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place | None, ...] = ()


class SyncError(LaunchError):
    """A Gluon kernel that would hang or read what is not there yet; `sync` is the fault as data.

    `fault` is the same in the form that outcomes carry: ("synchronisation", its kind, the lines, its traits).
    """

    def __init__(self, fault: SyncFault):
        from flashlearn.interpreter.gluon.sync_sentences import sentence

        super().__init__(sentence(fault), next((place for place in fault.places if place), None))
        self.sync = fault
        self.fault = (
            "synchronisation",
            fault.kind,
            tuple(place.line if place else 0 for place in fault.places),
            traits(fault),
        )


TRAITS = ("what", "did", "own", "writes", "hangs", "parity", "completed", "phase", "pending", "of", "index")
"""Facts that are the same in two kernels with the same fault, whatever their names and their blocks."""


def traits(fault: SyncFault) -> tuple:
    """What of the facts depends neither on names nor on sizes: two kernels with the same fault agree in it.

    Of buffers and barriers the index is left; of bytes, which are more; of those who wait, what they lack.
    """
    facts = fault.facts
    kept = [(name, facts[name]) for name in TRAITS if name in facts]
    kept += [(name, _index(facts[name])) for name in ("buffer", "barrier") if name in facts]
    if "expected" in facts:
        kept.append(("expected", bool(facts["expected"])))
        kept.append(("more", facts["copied"] > facts["expected"]))
    held = [
        (w["parity"], w["completed"], w["pending"], w["count"], _index(w["barrier"]), bool(w["arrived"]))
        for w in facts.get("waiting", ())
    ]
    return (*kept, *sorted(held))


def _index(name: str) -> str:
    """Which of several a buffer is: "[1]" of "full[1]"."""
    return name[name.find("[") :] if "[" in name else ""
