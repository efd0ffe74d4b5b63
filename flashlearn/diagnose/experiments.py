"""Suspicions that are tested by running the learner's kernel once more, under other circumstances."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from flashlearn.comparing import call, clone_storages
from flashlearn.exercise import Exercise, Kind
from flashlearn.observe.births import Birth, Births, NanBuilder
from flashlearn.observe.deadline import deadline
from flashlearn.observe.route import observing
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.run import run_observed
from flashlearn.tolerance import as_tuple

FILLERS = ((0.0, "0.0"), (-math.inf, '-float("inf")'))


def undefined_lanes(exercise: Exercise, wrong: list[Outcome], function: Callable) -> Finding | None:
    """Masked loads without `other=`, if a value in the hidden lanes would make every wrong case right."""
    suspects = [o for o in wrong if o.observation is not None and o.observation.undefined_loads]
    if not wrong or len(suspects) < len(wrong):
        return None
    name, place = wrong[0].observation.undefined_loads[0]
    for value, words in FILLERS:
        if _all_pass(exercise, function, wrong, undefined=value):
            sentence = (
                f"{name} is loaded under a mask without other=, and the result depends on the lanes that the "
                "mask hides. What they hold is undefined; here they were NaN, on a GPU they may be anything."
            )
            step = f"Say with other= what the hidden lanes hold; with other={words} every case is right."
            return Finding("masked load without other", sentence, step, place, len(wrong), len(wrong))
    return None


def fresh_memory(exercise: Exercise, wrong: list[Outcome], function: Callable) -> Finding | None:
    """Memory from torch.empty that is taken for zeros, if zeros would make every wrong case right."""
    suspects = [o for o in wrong if o.observation is not None and o.warnings]
    if not wrong or len(suspects) < len(wrong) or not _all_pass(exercise, function, wrong, fresh=0.0):
        return None
    bad = next((c.name for c in wrong[0].outputs if not c.ok), "the output")
    sentence = (
        f"{bad} is added to before anybody has written it: the launcher takes its memory from torch.empty, "
        "which holds whatever was there before. With memory that happens to be zero every case is right."
    )
    step = "Allocate what is added to with torch.zeros, or let the first program store instead of add."
    return Finding("uninitialised memory", sentence, step, None, len(wrong), len(wrong))


def _all_pass(exercise: Exercise, function: Callable, outcomes: list[Outcome], **how: float) -> bool:
    return all(run_observed(exercise, function, o.case, **how).status is Status.PASS for o in outcomes)


# ---------------------------------------------------------------- where a NaN is born

SENTENCES = {
    "inf minus inf": "an infinity is subtracted from itself",
    "zero over zero": "zero is divided by zero",
    "inf over inf": "an infinity is divided by an infinity",
    "zero times inf": "zero is multiplied by an infinity",
    "outside the domain": "a logarithm or a root is taken of a negative number",
    "overflow": "a number becomes too large for its format and turns into ∞",
    "division by zero": "a number is divided by zero and turns into ∞",
    "log of zero": "a logarithm is taken of zero: −∞",
}
STEPS = {
    "inf minus inf": (
        "−∞ − (−∞) comes from a row that has seen nothing yet, or from a mask that hides everything: which "
        "rows are they, and must they be computed at all?"
    ),
    "zero over zero": "Which rows have a sum of zero there? Divide by 1 where it is zero.",
    "inf over inf": "Where does the infinity come from: is an exponential taken of a large number?",
    "zero times inf": "A factor of 0 does not hide an infinity: make the infinity 0 first, with tl.where.",
    "overflow": (
        "exp overflows beyond 88 in fp32, and fp16 holds no more than 65504: subtract the maximum first, or "
        "keep fp32."
    ),
    "log of zero": "Which sums are 0 there: have all their exponentials underflowed, or is nothing added?",
    "division by zero": "Which elements of the divisor are zero? Guard them with tl.where.",
}

UNKNOWN = {
    "masked load without other": (
        "is loaded under a mask without other=: what the hidden lanes hold is undefined, and it reaches the "
        "result.",
        "Say with other= what the hidden lanes hold.",
    ),
    "uninitialised memory": (
        "is read where nobody has written: torch.empty holds whatever was there before.",
        "Allocate it with torch.zeros, or write it before you read.",
    ),
}


def nan_born(exercise: Exercise, wrong: list[Outcome], function: Callable) -> Finding | None:
    """The operation from which the non-finite numbers of the outputs stem, if it is one and the same."""
    if exercise.kind is not Kind.KERNEL:
        return None
    found: list[tuple[Birth, OutputCheck, Outcome, Births]] = []
    suspects = [o for o in wrong if _not_finite(o)]
    if not suspects or len(suspects) < len(wrong):
        return None
    for outcome in sorted(suspects, key=lambda o: o.seconds)[:3]:
        birth = _birth(exercise, outcome, function)
        if birth is None:
            return None
        found.append(birth)
    births = [f[0] for f in found]
    if len({(b.kind, b.place.line if b.place else 0) for b in births}) != 1:
        return None
    birth, check, outcome, births_seen = found[0]
    return _born_finding(birth, check, outcome, births_seen, len(suspects))


def _not_finite(outcome: Outcome) -> bool:
    return any(_stray(c).any() for c in outcome.outputs if _comparable(c))


def _comparable(check: OutputCheck) -> bool:
    return isinstance(check.got, torch.Tensor) and not check.problem


def _stray(check: OutputCheck) -> torch.Tensor:
    return ~torch.isfinite(check.got.double()) & torch.isfinite(check.expected.double())


def _birth(exercise: Exercise, outcome: Outcome, function: Callable):
    """Run one case with the closer observer, and read the birth off the first bad output."""
    case = outcome.case
    given = clone_storages(exercise.inputs(case, case.generator()))
    try:
        with observing(case.seed) as (session, _), deadline(exercise.time_limit):
            session.builder = NanBuilder
            outputs = as_tuple(call(exercise, function, given))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None  # it ran a moment ago; whatever stops it now says nothing about the NaN
    births: Births | None = getattr(session.memory, "births", None)
    if births is None or len(outputs) != len(outcome.outputs):
        return None
    for check, out in zip(outcome.outputs, outputs, strict=True):
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
    count = int(_stray(check).sum())
    reach = (
        f"In case {outcome.case.name} it ends up in {count} of {check.got.numel()} elements of {check.name}."
    )
    if birth.kind in UNKNOWN:
        what, step = UNKNOWN[birth.kind]
        return Finding(birth.kind, f"{birth.tensor} {what} {reach}", step, birth.place, cases, cases)
    what = SENTENCES[birth.kind]
    kind, source = birth.kind, ""
    overflows = [b for b, _ in births.infinite.values() if b.kind == "overflow"]
    if kind in ("inf over inf", "zero times inf", "inf minus inf") and len(overflows) == 1:
        first = overflows[0]
        if kind == "inf over inf" or (first.place and birth.place and first.place.line != birth.place.line):
            where = f"in line {first.place.line} (`{first.place.text.strip()}`) " if first.place else ""
            source = f" The infinity comes from a number that {where}became too large for its format."
    name = "overflow" if kind in ("inf over inf", "overflow") and overflows else kind
    sentence = f"The first NaN is born here: {what}.{source} {reach}"
    if kind in ("overflow", "division by zero", "log of zero"):
        sentence = f"Here {what}. {reach}"
    return Finding(name, sentence, STEPS[kind], birth.place, cases, cases)
