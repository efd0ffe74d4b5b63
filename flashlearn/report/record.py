"""A report as plain data, for verdict files, gradebooks and `flashlearn check --json`."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import torch

from flashlearn.outcome import Caution, Finding, Outcome, OutputCheck, Place, Status
from flashlearn.report import verdict
from flashlearn.report.units import dtype_name

if TYPE_CHECKING:
    from flashlearn.interpreter.observation import Observation
    from flashlearn.report import Report


def to_dict(report: Report) -> dict[str, Any]:
    """Everything that was found, without tensors; see `plain` for how values are written."""
    future = report.budgets
    ready = future is not None and future.done() and not future.cancelled() and future.exception() is None
    return {
        "exercise": report.exercise.name,
        "lesson": report.exercise.lesson,
        "status": report.status.name,
        "passed": report.passed,
        "sentence": report.sentence,
        "finding": _finding(report.finding) if report.finding is not None else None,
        "demo": report.demo,
        "stale": report.stale,
        "notes": list(report.notes),
        "mode": report.mode,
        "seconds": plain(report.seconds),
        "hints_taken": report.hints_taken,
        "cases": [_outcome(outcome) for outcome in report.outcomes],
        "timing": plain(vars(report.timing)) if report.timing is not None else None,
        "budgets": [plain(vars(budget)) for budget in future.result()]
        if ready and future is not None
        else None,
    }


def to_verdict(report: Report) -> dict[str, Any]:
    """What comes first; docs/check.schema.json describes it, as one of the `exercises`."""
    head = verdict.headline(report)
    marked = next((line for line in head.where.lines if line.marked), None) if head.where else None
    return {
        "exercise": report.exercise.name,
        "lesson": report.exercise.lesson,
        "status": report.status.name,
        "passed": report.passed,
        "sentence": report.sentence,
        "next_step": head.next_step,
        "line": marked.text.strip() if marked is not None else "",
        "cases_passed": sum(outcome.status is Status.PASS for outcome in report.outcomes),
        "cases": len(report.outcomes),
        "seconds": round(report.seconds, 3),
    }


def plain(value: Any) -> Any:
    """`value` in JSON's types: mappings, sequences and dataclasses entry by entry, the rest as its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, Place):
        return _place(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, torch.Tensor):
        return plain(value.item()) if value.numel() == 1 else f"{dtype_name(value.dtype)}{list(value.shape)}"
    return str(value)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "case": case.name,
        "sizes": plain(dict(case.sizes)),
        "dtype": dtype_name(case.dtype),
        "layout": case.layout,
        "magnitude": plain(case.magnitude),
        "status": outcome.status.name,
        "message": outcome.message,
        "detail": outcome.detail,
        "place": _place(outcome.place) if outcome.place is not None else None,
        "outputs": [_output(check) for check in outcome.outputs],
        "observation": _observation(outcome.observation) if outcome.observation is not None else None,
        "warnings": [str(caution) for caution in outcome.warnings],
        "cautions": [_caution(caution) for caution in outcome.warnings if isinstance(caution, Caution)],
        "seconds": plain(outcome.seconds),
        "mode": outcome.mode,
    }


def _output(check: OutputCheck) -> dict[str, Any]:
    numbers = {"error": check.error, "allowed": check.allowed, "rms_ratio": check.rms_ratio}
    return {"name": check.name, "ok": check.ok, "problem": check.problem, **plain(numbers)}


def _observation(seen: Observation) -> dict[str, Any]:
    return {
        "traffic": {name: plain(vars(moved)) for name, moved in seen.traffic.items()},
        "operations": plain(seen.operations),
        "launches": [
            {"kernel": one.name, "grid": list(one.grid), "constexprs": plain(one.constexprs)}
            for one in seen.launches
        ],
        "warnings": [str(caution) for caution in seen.warnings],
    }


def _caution(caution: Caution) -> dict[str, Any]:
    place = _place(caution.place) if caution.place is not None else None
    return {"kind": caution.kind, "sentence": caution.sentence, "place": place}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.name,
        "mistake": finding.mistake,
        "sentence": finding.sentence,
        "next_step": finding.next_step,
        "place": _place(finding.place) if finding.place is not None else None,
        "fits": finding.fits,
        "of": finding.of,
        "partial": finding.partial,
        "facts": plain(finding.facts),
        "parts": [_finding(part) for part in finding.parts],
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "file": place.file,
        "line": place.line,
        "text": place.text,
        "function": place.function,
        "program": list(place.program) if place.program is not None else None,
    }
