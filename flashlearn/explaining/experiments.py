"""Suspicions that are tested by running the learner's kernel once more, in another run mode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.explaining.edits.early_rounding import early_rounding_edits
from flashlearn.explaining.edits.edit import SourceText
from flashlearn.explaining.edits.search import edit_finding, lines_within
from flashlearn.explaining.edits.trials import trial_of
from flashlearn.explaining.findings.launcher import NothingLaunched
from flashlearn.explaining.findings.precision import RoundedInside
from flashlearn.explaining.findings.undefined_memory import MaskedLoadWithoutOther, UninitialisedMemory
from flashlearn.explaining.matching import size
from flashlearn.interpreter.cautions import UNINITIALISED
from flashlearn.interpreter.full_precision import COMPUTED, HALF, ROUNDED
from flashlearn.interpreter.observers.assigned_values import ValueRecorder
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Outcome, Place, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

FILLERS = (0.0, -math.inf)
MARKS = (80.0, 112.0)
"""What fresh memory is filled with to see whether it is written; two, as one may be an answer's own value."""

MOST_IN_PAIRS = 4
"""Lines that round, of which two are tried together."""

MOST_LINES = 8
"""The most lines that are tried one by one."""


def nothing_launched(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """That no kernel ran, and that what came back is memory from torch.empty, in every wrong case."""
    launched = any(o.observation is None or o.observation.launches for o in wrong)
    if exercise.kind is not Kind.KERNEL or launched or not wrong:
        return None
    case = wrong[0].case
    if not all(_comes_back(exercise, answer, case, mark) for mark in MARKS):
        return None
    return Finding(NothingLaunched(case.name), None, len(wrong), len(wrong))


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
            return Finding(MaskedLoadWithoutOther(name, value), place, len(wrong), len(wrong))
    return None


def uninitialised_memory(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """Memory from torch.empty that is used as if it were zeros, if zeros would make every wrong case
    right."""
    suspects = [o for o in wrong if any(caution.kind == UNINITIALISED for caution in o.warnings)]
    if not wrong or len(suspects) < len(wrong) or not _all_pass(exercise, answer, wrong, fresh=0.0):
        return None
    bad = next((c.name for c in wrong[0].outputs if not c.ok), None)
    return Finding(UninitialisedMemory(bad), None, len(wrong), len(wrong))


def _all_pass(exercise: Exercise, answer: Answer, outcomes: list[Outcome], **how: float) -> bool:
    return all(run_observed(exercise, answer, o.case, **how).status is Status.PASS for o in outcomes)


def rounded_inside(
    exercise: Exercise,
    wrong: list[Outcome],
    answer: Answer,
    outcomes: Sequence[Outcome] = (),
    numbers: bool = False,
) -> Finding | None:
    """Values rounded to half precision on their way, if every wrong case is right once they are not.

    With `outcomes`, which are all cases, a conversion that need only be moved into tl.dot is said. With
    `numbers` a case is right if its numbers are, whatever becomes of its inputs.
    """
    if exercise.kind is not Kind.KERNEL or not wrong:
        return None
    seen: list[Outcome] = []
    wrong = sorted(wrong, key=size)
    for outcome in wrong:
        again = run_observed(exercise, answer, outcome.case, full_precision=True)
        if not _is_right(again, numbers):
            return None
        seen.append(again)
    full = [o for o in seen if o.case.dtype.itemsize > 2]
    found = [caution for o in full for caution in o.warnings if caution.kind in ROUNDED]
    lines = {c.place.line for c in found if c.place is not None}
    half = tuple(sorted({ROUNDED[c.kind] for c in found}))
    texts = [section.text for section in answer.sections()]
    products = not texts or any("dot" in text for text in texts)
    kind = RoundedInside(half, tuple(sorted(lines)), len(wrong), len(full), products=products)
    place = found[0].place if len(lines) == 1 else None
    rounding = _rounding_lines(exercise, wrong, seen, answer, numbers) if not full else ()
    if len(rounding) > 1:
        kind = replace(kind, lines=tuple(sorted(one.line for one in rounding)))
    elif rounding:
        place = _with_its_text(rounding[0], answer)
        sum_name = _sum_name(exercise, wrong[0].case, place.line, answer)
        moved = _moved_into_the_product(exercise, answer, outcomes or wrong, place)
        kind = replace(kind, lines=(place.line,), sum_name=sum_name, text=place.text, parts=moved)
    return Finding(kind, place, len(wrong), len(wrong))


def _is_right(outcome: Outcome, numbers: bool) -> bool:
    right = outcome.status is Status.WRONG and bool(outcome.outputs) and all(c.ok for c in outcome.outputs)
    return outcome.status is Status.PASS or (numbers and right)


def _rounding_lines(
    exercise: Exercise, wrong: list[Outcome], seen: list[Outcome], answer: Answer, numbers: bool
) -> tuple[Place, ...]:
    """The one line whose rounding is all that is wrong: with its digits kept every wrong case is right.

    Where none is, the two lines whose rounding is; none if there are several such lines, or pairs.
    """
    noted = {c.place.line: c.place for o in seen for c in o.warnings if c.kind == COMPUTED and c.place}

    def right(lines: tuple[int, ...]) -> bool:
        runs = (run_observed(exercise, answer, o.case, full_precision=lines) for o in wrong)
        return all(_is_right(again, numbers) for again in runs)

    enough = [(line,) for line in list(noted)[:MOST_LINES] if right((line,))]
    if not enough:
        enough = [pair for pair in itertools.combinations(list(noted)[:MOST_IN_PAIRS], 2) if right(pair)]
    return tuple(noted[line] for line in enough[0]) if len(enough) == 1 else ()


def _with_its_text(place: Place, answer: Answer) -> Place:
    """The place with the text of its line, which is not known of a copy that was edited."""
    sections = answer.sections()
    for section, line in zip(sections, lines_within(sections, place.line), strict=True):
        lines = section.text.splitlines()
        if not place.text and section.name == place.function and line and 0 < line <= len(lines):
            return replace(place, text=lines[line - 1])
    return place


def _moved_into_the_product(
    exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome], place: Place
) -> tuple[Finding, ...]:
    """That every case is right if a line's conversion is made in the operand of tl.dot instead."""
    trial, sections = trial_of(exercise, answer, outcomes), answer.sections()
    for i, line in enumerate(lines_within(sections, place.line)) if trial.wrong else ():
        if sections[i].name != place.function or line is None:
            continue
        source = SourceText(sections[i].text)
        for edit in (e for f in source.functions() for e in early_rounding_edits(source, f, line)):
            text = edit.applied(sections[i].text)
            if trial.repaired(i, text) == trial.bad and trial.generalises(i, text, trial.bad):
                return (edit_finding(trial.wrong, sections[i], edit),)
    return ()


def _sum_name(exercise: Exercise, case: Case, line: int, answer: Answer) -> str:
    """The half-precision name that a line repeatedly updates from itself and something more; "" if none."""
    how = Observed(case.seed, observers=(ValueRecorder(),), limit=exercise.judged.time_limit)
    seen = answer.run(exercise.inputs(case, case.generator()), how).observations.get(ValueRecorder)
    there = [e for e in (seen.events if seen else ()) if e.site.line == line and e.site.name in e.site.reads]
    again = len(there) > len({e.program for e in there})
    return next((e.site.name for e in there if again and e.array.dtype in HALF), "")
