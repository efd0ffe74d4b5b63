"""The exception for a synchronization fault of a Gluon kernel, and what two equal faults have in common."""

from __future__ import annotations

from flashlearn.interpreter.errors import LaunchError
from flashlearn.interpreter.gluon.fault_kinds import SyncFault, sentence


class SyncError(LaunchError):
    """A Gluon kernel that would hang, or read what is not there yet; `sync` is the fault as data.

    `fault` is the same in the form that outcomes carry: ("synchronisation", its kind, the lines, its traits).
    """

    def __init__(self, fault: SyncFault):
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
    """The facts that depend neither on names nor on sizes: two kernels with the same fault agree in them.

    Of a buffer or barrier that is its index; of bytes, which are more; of waiting partitions, what they lack.
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
