"""Everything that was found, in full, for records: no tensors, no pictures, nothing shortened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashlearn.outcome import Caution, Finding, Outcome, OutputCheck, Place
from flashlearn.report.data import CheckResult
from flashlearn.report.units import dtype_name

if TYPE_CHECKING:
    from flashlearn.judging.speed import Timing
    from flashlearn.observation import Observation, Traffic


@dataclass(frozen=True)
class FindingDetails:
    """A finding with its facts; `parts` are the findings that it combines."""

    kind: str
    mistake: str
    sentence: str
    next_step: str
    place: Place | None
    fits: int
    of: int
    partial: bool
    facts: Mapping[str, Any]
    parts: tuple[FindingDetails, ...]


@dataclass(frozen=True)
class OutputDetails:
    """One output of one case; `error` and `allowed` are in the output's units."""

    name: str
    ok: bool
    problem: str
    error: float
    allowed: float
    rms_ratio: float


@dataclass(frozen=True)
class LaunchDetails:
    """One launch of a kernel."""

    kernel: str
    grid: tuple[int, ...]
    constexprs: Mapping[str, Any]


@dataclass(frozen=True)
class ObservationDetails:
    """What the interpreter observed in one case."""

    traffic: Mapping[str, Traffic]
    operations: Mapping[str, int]
    launches: tuple[LaunchDetails, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CaseDetails:
    """One case, or the review of an answer after its cases."""

    case: str
    sizes: Mapping[str, int]
    dtype: str
    layout: str
    magnitude: float
    status: str
    message: str
    detail: str
    place: Place | None
    outputs: tuple[OutputDetails, ...]
    observation: ObservationDetails | None
    warnings: tuple[str, ...]
    cautions: tuple[Caution, ...]
    seconds: float
    mode: str


@dataclass(frozen=True)
class Details:
    """The whole result, under the names that its record has."""

    finding: FindingDetails | None
    mode: str
    hints_taken: int
    cases: tuple[CaseDetails, ...]
    timing: Timing | None


def details_of(result: CheckResult) -> Details:
    """The details of everything that does not change after the check."""
    return Details(
        finding=_finding(result.finding) if result.finding is not None else None,
        mode=result.mode,
        hints_taken=result.hints_taken,
        cases=tuple(_case(outcome) for outcome in result.outcomes),
        timing=result.timing,
    )


def _finding(finding: Finding) -> FindingDetails:
    return FindingDetails(
        kind=finding.kind.name,
        mistake=finding.mistake,
        sentence=finding.sentence,
        next_step=finding.next_step,
        place=finding.place,
        fits=finding.fits,
        of=finding.of,
        partial=finding.partial,
        facts=finding.facts,
        parts=tuple(_finding(part) for part in finding.parts),
    )


def _case(outcome: Outcome) -> CaseDetails:
    case = outcome.case
    return CaseDetails(
        case=case.name,
        sizes=case.sizes,
        dtype=dtype_name(case.dtype),
        layout=case.layout,
        magnitude=case.magnitude,
        status=outcome.status.name,
        message=outcome.message,
        detail=outcome.detail,
        place=outcome.place,
        outputs=tuple(_output(check) for check in outcome.outputs),
        observation=_observation(outcome.observation) if outcome.observation is not None else None,
        warnings=tuple(map(str, outcome.warnings)),
        cautions=tuple(caution for caution in outcome.warnings if isinstance(caution, Caution)),
        seconds=outcome.seconds,
        mode=outcome.mode,
    )


def _output(check: OutputCheck) -> OutputDetails:
    return OutputDetails(check.name, check.ok, check.problem, check.error, check.allowed, check.rms_ratio)


def _observation(seen: Observation) -> ObservationDetails:
    return ObservationDetails(
        traffic=seen.tensors,
        operations=seen.operations,
        launches=tuple(LaunchDetails(one.name, tuple(one.grid), one.constexprs) for one in seen.launches),
        warnings=tuple(map(str, seen.warnings)),
    )
