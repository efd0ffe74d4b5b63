"""Suspicions that are tested by running the learner's kernel once more, under other circumstances."""

from __future__ import annotations

import math

import torch

from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.explaining.comparability import size
from flashlearn.interpreter.full_precision import COMPUTED, HALF, ROUNDED
from flashlearn.interpreter.observers.nan_origin import Birth, Births
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Outcome, OutputCheck, Place, Status, untyped
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed, PlainCall

FILLERS = (0.0, -math.inf)
MARKS = (80.0, 112.0)
"""What fresh memory is filled with to see whether anybody writes it; two, as one may be an answer's own."""


AT_MOST = 8
"""So many lines are tried one by one."""


def nothing_launched(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """That no kernel ran, and that what came back is memory from torch.empty, in every wrong case."""
    launched = any(o.observation is None or o.observation.launches for o in wrong)
    if exercise.kind is not Kind.KERNEL or launched or not wrong:
        return None
    case = wrong[0].case
    if not all(_comes_back(exercise, answer, case, mark) for mark in MARKS):
        return None
    return untyped("nothing launched", {"case": case.name}, None, len(wrong), len(wrong))


def _comes_back(exercise: Exercise, answer: Answer, case: Case, mark: float) -> bool:
    """Whether the answer returns nothing but the mark that fresh memory is filled with."""
    how = Observed(case.seed, fresh=mark, limit=exercise.judged.time_limit)
    values = answer.run(exercise.inputs(case, case.generator()), how).values
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.numel()]
    return bool(tensors) and all(bool((v == mark).all()) for v in tensors)


def undefined_lanes(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """Masked loads without `other=`, if a value in the hidden lanes would make every wrong case right."""
    suspects = [o for o in wrong if o.observation is not None and o.observation.undefined_loads]
    if not wrong or len(suspects) < len(wrong):
        return None
    name, place = wrong[0].observation.undefined_loads[0]
    for value in FILLERS:
        if _all_pass(exercise, answer, wrong, undefined=value):
            facts = {"tensor": name, "other": value}
            return untyped("masked load without other", facts, place, len(wrong), len(wrong))
    return None


def fresh_memory(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """Memory from torch.empty that is taken for zeros, if zeros would make every wrong case right."""
    suspects = [o for o in wrong if o.observation is not None and o.warnings]
    if not wrong or len(suspects) < len(wrong) or not _all_pass(exercise, answer, wrong, fresh=0.0):
        return None
    bad = next((c.name for c in wrong[0].outputs if not c.ok), None)
    return untyped("uninitialised memory", {"output": bad}, None, len(wrong), len(wrong))


def _all_pass(exercise: Exercise, answer: Answer, outcomes: list[Outcome], **how: float) -> bool:
    return all(run_observed(exercise, answer, o.case, **how).status is Status.PASS for o in outcomes)


# ---------------------------------------------------------------- what half precision loses


def rounded_inside(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """Values rounded to half precision on their way, if every wrong case is right once they are not."""
    if exercise.kind is not Kind.KERNEL or not wrong:
        return None
    seen: list[Outcome] = []
    wrong = sorted(wrong, key=size)
    for outcome in wrong:
        again = run_observed(exercise, answer, outcome.case, unrounded=True)
        if again.status is not Status.PASS:
            return None
        seen.append(again)
    full = [o for o in seen if o.case.dtype.itemsize > 2]
    found = [caution for o in full for caution in o.warnings if caution.kind in ROUNDED]
    lines = {c.place.line for c in found if c.place is not None}
    facts = {
        "half": tuple(sorted({ROUNDED[c.kind] for c in found})),
        "lines": tuple(sorted(lines)),
        "count": len(wrong),
        "full": len(full),
    }
    place = found[0].place if len(lines) == 1 else None
    if not full and (place := _rounds(exercise, wrong, seen, answer)) is not None:
        facts |= {"lines": (place.line,), "name": _summed(exercise, wrong[0].case, place.line, answer)}
    return untyped("rounded inside", facts, place, len(wrong), len(wrong), ("precision",))


def _rounds(exercise: Exercise, wrong: list[Outcome], seen: list[Outcome], answer: Answer) -> Place | None:
    """The one line whose rounding is all that is wrong: with its digits kept every wrong case is right."""
    noted = {c.place.line: c.place for o in seen for c in o.warnings if c.kind == COMPUTED and c.place}

    def alone(outcome: Outcome, line: int) -> bool:
        again = run_observed(exercise, answer, outcome.case, unrounded=(line,))
        return again.status is Status.PASS

    enough = [line for line in list(noted)[:AT_MOST] if all(alone(o, line) for o in wrong)]
    return noted[enough[0]] if len(enough) == 1 else None


def _summed(exercise: Exercise, case: Case, line: int, answer: Answer) -> str:
    """The name of half precision that a line makes of itself and something more, repeatedly; or nothing."""
    how = Observed(case.seed, values=True, limit=exercise.judged.time_limit)
    events = answer.run(exercise.inputs(case, case.generator()), how).events
    there = [e for e in events if e.site.line == line and e.site.name in e.site.reads]
    again = len(there) > len({e.program for e in there})
    return next((e.site.name for e in there if again and e.array.dtype in HALF), "")


# ---------------------------------------------------------------- where a NaN is born

MEMORY = ("masked load without other", "uninitialised memory")
"""Births that are none: the numbers were never defined."""


def nan_born(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """The operation from which the non-finite numbers of the outputs stem, if it is one and the same."""
    if exercise.kind is Kind.TORCH:
        return _born_in_torch(exercise, wrong, answer)
    if exercise.kind is not Kind.KERNEL:
        return None
    found: list[tuple[Birth, OutputCheck, Outcome, Births]] = []
    suspects = [o for o in wrong if _not_finite(o)]
    if not suspects or len(suspects) < len(wrong):
        return None
    for outcome in sorted(suspects, key=size)[:3]:
        birth = _birth(exercise, outcome, answer)
        if birth is None:
            return None
        found.append(birth)
    births = [f[0] for f in found]
    if len({(b.kind, b.place.line if b.place else 0) for b in births}) != 1:
        return None
    birth, check, outcome, births_seen = found[0]
    return _born_finding(birth, check, outcome, births_seen, len(suspects))


def _born_in_torch(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """The same of a formula: the line in which torch makes the first NaN, if it is one and the same."""
    suspects = [o for o in wrong if _not_finite(o)]
    if not suspects or len(suspects) < len(wrong) or exercise.judged.call is not None:
        return None
    seen = []
    for outcome in sorted(suspects, key=size)[:3]:
        how = PlainCall(exercise.judged.time_limit, births=True)
        evidence = answer.run(exercise.inputs(outcome.case, outcome.case.generator()), how)
        seen.append((*evidence.born, outcome))
    kind, place, outcome = seen[0]
    if not kind or place is None or len({(k, p and p.line) for k, p, _ in seen}) > 1:
        return None
    check = next(c for c in outcome.outputs if _comparable(c) and _stray(c).any())
    return _born_finding(Birth(0, kind, place), check, outcome, Births(), len(suspects))


def _not_finite(outcome: Outcome) -> bool:
    return any(_stray(c).any() for c in outcome.outputs if _comparable(c))


def _comparable(check: OutputCheck) -> bool:
    return isinstance(check.got, torch.Tensor) and not check.problem


def _stray(check: OutputCheck) -> torch.Tensor:
    return ~torch.isfinite(check.got.double()) & torch.isfinite(check.expected.double())


def _birth(exercise: Exercise, outcome: Outcome, answer: Answer):
    """Run one case with the closer observer, and read the birth off the first bad output."""
    case = outcome.case
    how = Observed(case.seed, births=True, limit=exercise.judged.time_limit)
    evidence = answer.run(exercise.inputs(case, case.generator()), how)
    births = evidence.births
    if births is None or len(evidence.outputs) != len(outcome.outputs):
        return None  # it ran a moment ago; whatever stops it now says nothing about the NaN
    for check, out in zip(outcome.outputs, evidence.values, strict=True):
        if not _comparable(check) or not _stray(check).any():
            continue
        bad = out[_stray(check)] if out.shape == check.got.shape else out
        parents = births.of(bad)
        if not parents and bool(torch.isnan(bad).any()) and len(births.known) == 1:
            parents = list(births.known.values())
        if not parents and bool(torch.isinf(bad).any()) and len(births.infinite) == 1:
            parents = [next(iter(births.infinite.values()))[0]]
        return (parents[0], check, outcome, births) if len(parents) == 1 else None
    return None


def _born_finding(
    birth: Birth, check: OutputCheck, outcome: Outcome, births: Births, cases: int
) -> Finding | None:
    facts = {
        "case": outcome.case.name,
        "output": check.name,
        "count": int(_stray(check).sum()),
        "total": check.got.numel(),
    }
    if birth.kind in MEMORY:
        facts |= {"tensor": birth.tensor}
        return untyped(
            "undefined numbers", {"what": birth.kind, **facts}, birth.place, cases, cases, (birth.kind,)
        )
    kind, grown = birth.kind, None
    overflows = [b for b, _ in births.infinite.values() if b.kind == "overflow"]
    if kind in ("inf over inf", "zero times inf", "inf minus inf") and len(overflows) == 1:
        first = overflows[0]
        if kind == "inf over inf" or (first.place and birth.place and first.place.line != birth.place.line):
            grown = first
    name = "overflow" if kind in ("inf over inf", "overflow") and overflows else kind
    facts |= {"birth": kind, "overflowed": grown is not None, "where": grown.place if grown else None}
    return untyped("birth", facts, birth.place, cases, cases, (name,))
