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

    The sentence is made by `sync_words.sentence` and nowhere else.
    """

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[Place | None, ...] = ()


class SyncError(LaunchError):
    """A Gluon kernel that would hang or read what is not there yet; `sync` is the fault as data.

    `fault` is the same in the form that outcomes carry: ("synchronisation", its kind, the lines).
    """

    def __init__(self, fault: SyncFault):
        from flashlearn.interpreter.gluon.sync_words import sentence

        super().__init__(sentence(fault), next((place for place in fault.places if place), None))
        self.sync = fault
        self.fault = (
            "synchronisation",
            fault.kind,
            tuple(place.line if place else 0 for place in fault.places),
        )
