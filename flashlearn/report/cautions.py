"""Cautions: what would fail, or go less well, on a GPU though it passes here."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.interpreter.cautions import BESIDE, SAME_VALUE, UNINITIALISED
from flashlearn.outcome import Caution
from flashlearn.report.data import CheckResult
from flashlearn.report.source import Excerpt, excerpt

OF_ONE_CASE = (SAME_VALUE, UNINITIALISED)
"""Kinds whose sentences have indices, which are those of a case."""


@dataclass(frozen=True)
class Note:
    """A caution that does not change the verdict, with the line that it is about."""

    sentence: str
    where: Excerpt | None


def notes_of(result: CheckResult) -> tuple[Note, ...]:
    """One note for each kind of caution and line, from the first case that has it."""
    found: dict[tuple, Note] = {}
    for outcome in result.outcomes:
        for warning in (*outcome.warnings, *(outcome.observation.warnings if outcome.observation else ())):
            caution = warning if isinstance(warning, Caution) else Caution("", warning)
            if caution.kind == BESIDE:
                continue  # the evidence has it
            place = caution.place
            key = (caution.kind, place.file, place.line) if place else (caution.kind, caution.sentence)
            if key not in found:
                case = f"Case {outcome.case.name}: " if caution.kind in OF_ONE_CASE else ""
                found[key] = Note(f"{case}{caution.sentence}", excerpt(place) if place else None)
    return tuple(found.values())
