"""From outcomes to the one sentence that names the mistake.

First the mistakes that the exercise declares: the learner's outputs must be what the mistake would
give, in every case that ran, and far from the truth in those that failed. Then rules for what no
author foresaw. A rule says what it saw and no more; if nothing fits, there is no finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from flashlearn.exercise import Exercise, Mistake
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.rules import RULES, shape
from flashlearn.run import run_observed
from flashlearn.tolerance import as_tuple, convert, largest_error

CLOSER = 0.1
"""A named mistake must explain the outputs at least ten times better than the truth does."""

NEARER = 1e-4
"""Outputs this much nearer to the mistake than to the truth are its: large values round more coarsely."""

Outputs = tuple[torch.Tensor, ...]


def diagnose(exercise: Exercise, outcomes: list[Outcome], function: Callable | None = None) -> Finding | None:
    """The finding for a check that did not pass, or None if there is nothing sure to say.

    With the learner's `function` at hand, suspicions can be tested by running it again.
    """
    first = next((o for o in outcomes if o.status is not Status.PASS), None)
    if first is None or first.status in (Status.TODO, Status.NEEDS_GPU):
        return None
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    if _worst(outcomes) is not Status.WRONG:
        return _from_status(exercise, outcomes)
    undefined = _undefined_lanes(exercise, wrong, function) if function is not None else None
    return undefined or named(exercise, outcomes) or _by_rule(wrong)


def _undefined_lanes(exercise: Exercise, wrong: list[Outcome], function: Callable) -> Finding | None:
    """Masked loads without `other=`, if zeros in the hidden lanes would make every wrong case right."""
    suspects = [o for o in wrong if o.observation is not None and o.observation.undefined_loads]
    if not wrong or len(suspects) < len(wrong):
        return None
    if any(run_observed(exercise, function, o.case, undefined=0.0).status is not Status.PASS for o in wrong):
        return None
    name, place = wrong[0].observation.undefined_loads[0]
    sentence = (
        f"{name} is loaded under a mask without other=, and the result depends on the lanes that the mask "
        "hides. What they hold is undefined; here they were NaN, on a GPU they may be anything."
    )
    return Finding(
        "masked load without other", sentence, "Say with other= what the hidden lanes hold.", place
    )


def _worst(outcomes: list[Outcome]) -> Status:
    order = list(Status)
    return min((o.status for o in outcomes), key=order.index)


def _from_status(exercise: Exercise, outcomes: list[Outcome]) -> Finding:
    """Bounds, races, crashes: the outcome's own sentence says it; a declared mistake knows the next step."""
    worst = _worst(outcomes)
    outcome = next(o for o in outcomes if o.status is worst)
    for name, mistake in exercise.mistakes.items():
        if mistake.launcher is not None and mistake.status == worst.name:
            fits = _same_faults(exercise, mistake, outcomes)
            if fits:
                sentence = f"{outcome.message} {mistake.sentence}".strip()
                return Finding(name, sentence, mistake.next_step, outcome.place, fits, fits)
    steps = {
        Status.OUT_OF_BOUNDS: "A mask that is true only where the index is inside keeps the lane out.",
        Status.RACE: "Give every element one program that writes it, or add with tl.atomic_add.",
        Status.NOT_YOURS: "Move the computation into the kernel.",
    }
    return Finding(worst.name.lower(), outcome.message, steps.get(worst, ""), outcome.place)


def _same_faults(exercise: Exercise, mistake: Mistake, outcomes: list[Outcome]) -> int:
    """In how many cases the declared kernel fails just as the learner's did; 0 if it differs in one."""
    fits = 0
    for outcome in outcomes:
        if outcome.mode != "observed":
            continue
        twin = run_observed(exercise, mistake.launcher, outcome.case)
        if (twin.status, twin.fault) != (outcome.status, outcome.fault):
            return 0
        if outcome.status is Status.CRASHED and twin.message != outcome.message:
            return 0  # another crash, which has its own reason
        fits += 1
    return fits


# ---------------------------------------------------------------- named mistakes


def named(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """The declared mistake that explains every case, if exactly one does so best."""
    judged = [o for o in outcomes if _comparable(o) and o.mode == "observed"]
    judged = judged or [o for o in outcomes if _comparable(o)]
    failed = [o for o in judged if o.status is Status.WRONG]
    if not failed or any(_unfit(check) for o in judged for check in o.outputs):
        return None
    misfits = {}
    for name, mistake in exercise.mistakes.items():
        if mistake.status != "WRONG":
            continue
        misfit = _explains(exercise, mistake, judged, failed)
        if misfit is not None:
            misfits[name] = misfit
    if not misfits:
        return None
    name = min(misfits, key=misfits.__getitem__)
    mistake = exercise.mistakes[name]
    return Finding(name, mistake.sentence, mistake.next_step, fits=len(judged), of=len(judged))


def _unfit(check: OutputCheck) -> bool:
    """True for an output whose type or dtype is wrong: that has to be said first."""
    return not isinstance(check.got, torch.Tensor) or "dtype" in check.problem


def _comparable(outcome: Outcome) -> bool:
    return bool(outcome.outputs) and outcome.status in (Status.WRONG, Status.PASS)


def _explains(
    exercise: Exercise, mistake: Mistake, judged: list[Outcome], failed: list[Outcome]
) -> float | None:
    """How badly the mistake misses the learner's outputs (0: exactly); None if it does not explain them."""
    variants = _variants(exercise, mistake)
    for variant in variants:
        misfits = []
        for outcome in sorted(judged, key=lambda o: o.status is not Status.WRONG):
            misfit = _misfit(exercise, variant(outcome), outcome, outcome in failed)
            if misfit is None:
                break
            misfits.append(misfit)
        else:
            return max(misfits)
    return None


def _variants(exercise: Exercise, mistake: Mistake) -> Iterable:
    """Ways to compute what the mistake gives: in fp64, and at the kernel's own precisions."""
    if mistake.wrong is None:
        yield lambda outcome: _fixture_outputs(exercise, mistake, outcome)
        return
    for dtype in (torch.float64, torch.float32, None):
        yield lambda outcome, dtype=dtype: _wrong_outputs(exercise, mistake, outcome, dtype)


def _wrong_outputs(exercise: Exercise, mistake: Mistake, outcome: Outcome, dtype) -> Outputs | None:
    inputs = exercise.inputs(outcome.case, outcome.case.generator())
    try:
        return as_tuple(mistake.wrong(**(inputs if dtype is None else convert(inputs, dtype))))
    except (RuntimeError, IndexError, ValueError):
        return None  # the wrong formula does not fit these shapes: it is not this mistake


def _fixture_outputs(exercise: Exercise, mistake: Mistake, outcome: Outcome) -> Outputs | None:
    twin = run_observed(exercise, mistake.launcher, outcome.case)
    if not _comparable(twin) or any(check.problem for check in twin.outputs):
        return None
    return tuple(check.got for check in twin.outputs)


def _misfit(exercise: Exercise, predicted: Outputs | None, outcome: Outcome, failed: bool) -> float | None:
    if predicted is None or len(predicted) != len(outcome.outputs):
        return None
    worst, closer = 0.0, not failed
    for wrong, check in zip(predicted, outcome.outputs, strict=True):
        if not isinstance(wrong, torch.Tensor) or wrong.shape != check.got.shape:
            return None
        wrong = wrong.to(check.got.dtype).double()
        error = largest_error(check.got, wrong)
        allowed = max(2 * check.allowed if not check.problem else 0.0, _rounding(wrong, check.got.dtype))
        if not check.ok and math.isfinite(check.error):
            allowed = max(allowed, NEARER * check.error)
        if not error <= allowed:
            return None
        worst = max(worst, error / allowed if allowed else 0.0)
        if check.problem:  # the truth has another shape: agreeing with the mistake's says enough
            closer = True
            continue
        closer = closer or (not check.ok and error <= CLOSER * check.error)
    return worst if closer else None


def _rounding(values: torch.Tensor, dtype: torch.dtype) -> float:
    """Four rounding errors at the values' own magnitude: wrong numbers may be far larger than right ones."""
    if not dtype.is_floating_point:
        return 0.0
    finite = values[torch.isfinite(values)]
    return 4 * torch.finfo(dtype).eps * float(finite.abs().max()) if finite.numel() else 0.0


# ---------------------------------------------------------------- rules


def _by_rule(wrong: list[Outcome]) -> Finding | None:
    for rule in RULES:
        findings = []
        for outcome in wrong:
            check = _first_bad(outcome)
            speaks = check is not None and (rule is shape or (check.got is not None and not check.problem))
            finding = rule(check, outcome) if speaks else None
            if finding is not None:
                findings.append(finding)
        if findings and (rule is shape or len(findings) == len(wrong)):  # a shape that is wrong comes first
            return replace(findings[0], fits=len(findings), of=len(wrong))
    return _from_message(wrong[0]) if wrong else None


def _first_bad(outcome: Outcome) -> OutputCheck | None:
    return next((check for check in outcome.outputs if not check.ok), None)


def _from_message(outcome: Outcome) -> Finding | None:
    """An outcome that could not be compared at all already has its sentence."""
    if _first_bad(outcome) is None and outcome.message:
        return Finding("launcher", outcome.message)
    return None
