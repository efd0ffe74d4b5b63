"""What passes here and may not pass elsewhere, noted once per kind and line while a launch runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from flashlearn.observation import Caution, Place

TF32 = "TF32"
UNINITIALISED = "uninitialised memory"
SAME_VALUE = "same value written twice"
MISSING_BARRIER = "memory shared without a barrier"
NO_OTHER = "masked load without other"
OVERFLOW = "32-bit offset"
GRID_AXIS = "grid axis too short"
TOO_LARGE = "too much shared memory"
NOT_TIMED = "not timed"
BESIDE = "beside the cases"
SMALL_GPU = "too little GPU memory"
NO_ALLOCATOR = "descriptors without an allocator"


@dataclass
class CautionLog:
    """The cautions of a session, in the order in which they were first seen."""

    found: dict[tuple, Caution] = field(default_factory=dict)

    def add(self, kind: str, sentence: str, place: Place | None) -> None:
        """Note a caution, unless one of its kind is known for the line (or for the sentence, without one)."""
        self.found.setdefault(key_of(Caution(kind, sentence, place)), Caution(kind, sentence, place))


def key_of(caution: Caution) -> tuple:
    """What makes two cautions the same: their kind and line."""
    place = caution.place
    return (caution.kind, place.file, place.line) if place is not None else (caution.kind, caution.sentence)
