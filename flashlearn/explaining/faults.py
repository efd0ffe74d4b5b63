"""Findings for what went wrong before there were numbers to compare: bounds, races, crashes."""

from __future__ import annotations

from flashlearn.exercise import Exercise, Mistake
from flashlearn.explaining.edits.verification import SYNCHRONISATION
from flashlearn.explaining.findings.case_status import BY_STATUS, OutOfBounds, Race
from flashlearn.explaining.findings.declared import DeclaredFault
from flashlearn.explaining.matching import fit
from flashlearn.explaining.stage import worst_status
from flashlearn.interpreter.learner_code import is_kernel_of_course
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


def from_status(exercise: Exercise, outcomes: list[Outcome]) -> Finding:
    """Bounds, races, crashes: the outcome's own sentence says it; a declared mistake has the next step."""
    status = worst_status(outcomes)
    outcome = next(o for o in outcomes if o.status is status)
    seen, case = outcome.message, outcome.case.name
    of_time = outcome.fault[:1] == (SYNCHRONISATION,)
    for name, mistake in exercise.explained.mistakes.items():
        if mistake.launcher is not None and mistake.status is status:
            fits, of = _same_faults(exercise, mistake, outcomes)
            if fits:
                declared = DeclaredFault(seen, case, mistake.sentence, mistake.next_step, of_time, (name,))
                return Finding(declared, outcome.place, fits, of, partial=fits < of)
    if status is Status.OUT_OF_BOUNDS:
        cause = "lent" if is_kernel_of_course(outcome.place) else _cause(outcome.fault)
        return Finding(OutOfBounds(seen, case, cause=cause), outcome.place)
    if status is Status.RACE:
        race = Race(seen, case, accesses=outcome.fault[1:3], adds=exercise.judged.atomics)
        return Finding(race, outcome.place)
    called = (outcome.fault[1],) if of_time else ()
    return Finding(BY_STATUS[status](seen, case, called), outcome.place)


def _cause(fault: tuple) -> str:
    """What is wrong with an access, as far as that is known: a key of `case_status.STEPS`."""
    _, masked, index, *more = fault or (None, False, None)
    cause = next((part[1] for part in more if isinstance(part, tuple) and part[:1] == ("cause",)), "")
    if cause:
        return cause
    if index is None:
        return "pointer"
    if index == "misaligned":
        return "dtype"
    if "exchanged" in more:
        return "exchanged"
    if "gaps" in more or "steps" in more:
        return "stride"
    if "block pointer" in more:
        return "block pointer"
    if "descriptor" in more:
        return "descriptor"
    if "below" in more:
        return "below"
    if not masked:
        return "one element" if "one element" in more else "no mask"
    return "mask, far" if "far" in more else "mask"


def _essence(fault: tuple) -> tuple:
    """A fault without what depends on the sizes of blocks: how far outside, or where wrong strides led.

    One of synchronisation is without its lines.
    """
    if fault[:1] == (SYNCHRONISATION,):
        return (*fault[:2], *fault[3:])
    causes = [part for part in fault if isinstance(part, tuple) and part[:1] == ("cause",)]
    fault = tuple(part for part in fault if part not in ("below", "far", "one element", *causes))
    return (*fault[:2], *fault[3:]) if "steps" in fault else fault


def _same_faults(exercise: Exercise, mistake: Mistake, outcomes: list[Outcome]) -> tuple[int, int]:
    """In how many cases, of how many, the declared kernel fails just as the learner's did.

    In none if a case stopped otherwise, if the declared kernel would fail where the learner's does not, or if
    it leaves most of what is wrong open. Wrong numbers are the same only if they are the declared kernel's.
    """
    fits = open_cases = failing = 0
    for outcome in outcomes:
        if outcome.mode != "observed":
            continue
        twin = run_observed(exercise, mistake.launcher, outcome.case)
        same_end = (twin.status, _essence(twin.fault)) == (outcome.status, _essence(outcome.fault))
        failing += outcome.status is not Status.PASS
        if same_end and _same_numbers(twin, outcome):
            fits += 1
        elif outcome.status is Status.WRONG and twin.status in (Status.WRONG, Status.PASS):
            open_cases += 1  # a second mistake
        else:
            return 0, 0  # another crash, say, which has its own reason
    if not open_cases:
        return fits, fits
    return (failing - open_cases, failing) if 2 * open_cases <= failing else (0, 0)


def _same_numbers(twin: Outcome, outcome: Outcome) -> bool:
    """Whether wrong numbers are those of the declared kernel."""
    if outcome.status is not Status.WRONG:
        return True
    pairs = zip(twin.outputs, outcome.outputs, strict=True)
    return all(b.ok if a.ok else a.problem == b.problem and _met(a, b) for a, b in pairs)


def _met(twin: OutputCheck, check: OutputCheck) -> bool:
    return bool(check.problem) or fit(twin.got, check) is not None
