"""A report as plain data, for verdict files, gradebooks and `flashlearn check --json`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from flashlearn.later import types_of
from flashlearn.report.card import Card
from flashlearn.report.units import dtype_name
from flashlearn.report.verdict import Verdict


def card_record(card: Card) -> dict[str, Any]:
    """Everything that was found, without tensors; see `plain` for how values are written."""
    verdict, details = card.verdict, card.details
    return {
        "exercise": verdict.exercise,
        "lesson": verdict.lesson,
        "status": verdict.status.name,
        "passed": verdict.passed,
        "sentence": verdict.sentence,
        "finding": plain(details.finding),
        "demo": verdict.demo,
        "stale": verdict.stale,
        "notes": list(verdict.notes),
        "mode": details.mode,
        "seconds": plain(verdict.seconds),
        "hints_taken": details.hints_taken,
        "cases": plain(details.cases),
        "timing": plain(details.timing),
        "budgets": plain(card.budgets),
    }


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """What comes first; docs/check.schema.json describes it, as one of the `exercises`."""
    marked = verdict.where.marked if verdict.where is not None else None
    return {
        "exercise": verdict.exercise,
        "lesson": verdict.lesson,
        "status": verdict.status.name,
        "passed": verdict.passed,
        "sentence": verdict.sentence,
        "next_step": verdict.next_step,
        "line": marked.text.strip() if marked is not None else "",
        "cases_passed": verdict.cases_passed,
        "cases": verdict.cases,
        "seconds": round(verdict.seconds, 3),
    }


def plain(value: Any) -> Any:
    """`value` in JSON's types: mappings, sequences and dataclasses entry by entry, the rest as its text.

    Numbers that are not finite are null.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, types_of("torch", "Tensor")):
        return plain(value.item()) if value.numel() == 1 else f"{dtype_name(value.dtype)}{list(value.shape)}"
    return str(value)
