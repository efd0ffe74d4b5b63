"""The operation from which a wrong answer's NaN come, in its kernel or formula, and in a declared mistake.

Two mistakes may both end in nothing but NaN. Where these come from different operations, the numbers do not
tell the mistakes apart, and this does.

>>> zero = torch.zeros(3)
>>> first_in_formula(lambda x: x / x - 1, {"x": zero})
'zero over zero'

The kinds of operations are those of `interpreter.observers.nan_origin`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.undefined_memory import (
    MaskedLoadWithoutOther,
    UndefinedNumbers,
    UninitialisedMemory,
)
from flashlearn.explaining.matching import has_wrong_numbers, size
from flashlearn.interpreter.observers.nan_origin import NanTracker, NonFiniteOrigin, NonFiniteOrigins
from flashlearn.interpreter.torch_nan import TorchNanOrigin
from flashlearn.observation import Place
from flashlearn.outcome import Finding, FindingKind, Outcome, OutputCheck
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed, PlainCall

UNDEFINED = (MaskedLoadWithoutOther.name, UninitialisedMemory.name)
"""Origins that are no operation: the numbers were never defined."""

MOST_CASES = 3
"""The smallest cases, in which the origins are compared."""

MASKED = re.compile(r"dot\(|where\(|\.to\(|[<>]|mask|@")
"""What a line has where the 0 may be a mask's, or padding."""

WITHOUT_INFINITY = ("zero over zero", "outside the domain")
"""The operations whose operands are finite."""

PRODUCT = "zero times inf"
"""The other kinds may replace one another: a row that sees nothing has −∞ − (−∞), or 0/0."""


def nan_origin(exercise: Exercise, wrong: list[Outcome], answer: Answer) -> Finding | None:
    """The operation from which the numbers come that are not finite, if it is one and the same."""
    suspects = [o for o in wrong if any(_elsewhere(c).any() for c in o.outputs if _comparable(c))]
    if not suspects or len(suspects) < len(wrong):
        return None
    if exercise.kind is Kind.TORCH:
        return _in_torch(exercise, suspects, answer)
    return _in_kernel(exercise, suspects, answer) if exercise.kind is Kind.KERNEL else None


def first_in_formula(formula: Callable[..., Any], inputs: Mapping[str, Any]) -> str:
    """The kind of operation that makes the formula's first NaN; "" if it makes none, or in another way.

    It is also "" where numbers overflowed before: what becomes of ∞ depends on the order of the operations,
    which a kernel may choose.
    """
    origin = TorchNanOrigin()
    given = {name: x.clone() if isinstance(x, torch.Tensor) else x for name, x in inputs.items()}
    with torch.no_grad(), origin:
        formula(**given)
    return origin.kind or ""


def differ(one: str, other: str, everywhere: bool) -> bool:
    """Whether two kinds of operations cannot be those of one mistake.

    Where NaN are `everywhere` their places say nothing, and the kinds have to be the same. `one` is "" if it
    follows an overflow: the other cannot be an operation that makes a NaN without any infinity.
    """
    if not one:
        return other in WITHOUT_INFINITY
    return one != other and (everywhere or PRODUCT in (one, other))


def _in_kernel(exercise: Exercise, suspects: list[Outcome], answer: Answer) -> Finding | None:
    found: list[tuple[NonFiniteOrigin, OutputCheck, Outcome, NonFiniteOrigins]] = []
    for outcome in sorted(suspects, key=size)[:MOST_CASES]:
        origin = _read_off(exercise, outcome, answer)
        if origin is None:
            return None
        found.append(origin)
    origins = [f[0] for f in found]
    if len({(b.kind, b.place.line if b.place else 0) for b in origins}) != 1:
        return None
    origin = dataclasses.replace(origins[0], infinities=_the_same([one.infinities for one in origins]))
    return _finding(exercise, origin, *found[0][1:], [outcome for _, _, outcome, _ in found])


def _in_torch(exercise: Exercise, suspects: list[Outcome], answer: Answer) -> Finding | None:
    """The line of a formula in which torch makes the first NaN, if it is one and the same."""
    if exercise.judged.call is not None:
        return None
    seen = []
    for outcome in sorted(suspects, key=size)[:MOST_CASES]:
        how = PlainCall(exercise.judged.time_limit, torch_nan=True)
        evidence = answer.run(exercise.inputs(outcome.case, outcome.case.generator()), how)
        seen.append((*evidence.observations.get(TorchNanOrigin, ("", None, "")), outcome))
    kind, place, _, outcome = seen[0]
    if not kind or place is None or len({(k, p and p.line) for k, p, *_ in seen}) > 1:
        return None
    infinities = _the_same([i for _, _, i, _ in seen])
    check = next(c for c in outcome.outputs if _comparable(c) and _elsewhere(c).any())
    origin = NonFiniteOrigin(0, kind, place, infinities=infinities)
    return _finding(exercise, origin, check, outcome, NonFiniteOrigins(), [o for *_, o in seen])


def _the_same(infinities: list[str]) -> str:
    """The infinities of all cases, where these are the same."""
    return infinities[0] if len(set(infinities)) == 1 else ""


def _comparable(check: OutputCheck) -> bool:
    return isinstance(check.got, torch.Tensor) and not check.problem


def _elsewhere(check: OutputCheck) -> torch.Tensor:
    return ~torch.isfinite(check.got.double()) & torch.isfinite(check.expected.double())


def _read_off(
    exercise: Exercise, outcome: Outcome, answer: Answer
) -> tuple[NonFiniteOrigin, OutputCheck, Outcome, NonFiniteOrigins] | None:
    """Run one case with the closer observer, and read the origin off the first bad output."""
    case = outcome.case
    how = Observed(case.seed, observers=(NanTracker(),), limit=exercise.judged.time_limit)
    evidence = answer.run(exercise.inputs(case, case.generator()), how)
    seen = evidence.observations.get(NanTracker)
    if seen is None or len(evidence.outputs) != len(outcome.outputs):
        return None  # it ran a moment ago; if something stops it now, that says nothing about the NaN
    for check, out in zip(outcome.outputs, evidence.values, strict=True):
        if not _comparable(check) or not _elsewhere(check).any():
            continue
        bad = out[_elsewhere(check)] if out.shape == check.got.shape else out
        origins = seen.of(bad)
        if not origins and bool(torch.isnan(bad).any()) and len(seen.known) == 1:
            origins = list(seen.known.values())
        if not origins and bool(torch.isinf(bad).any()) and len(seen.infinite) == 1:
            origins = [next(iter(seen.infinite.values()))[0]]
        return (origins[0], check, outcome, seen) if len(origins) == 1 else None
    return None


def _finding(
    exercise: Exercise,
    origin: NonFiniteOrigin,
    check: OutputCheck,
    outcome: Outcome,
    seen: NonFiniteOrigins,
    examined: list[Outcome],
) -> Finding:
    """The finding; it explains those of the cases in which nothing but NaN and infinities is wrong."""
    cases = len(examined)
    explained = sum(not any(map(has_wrong_numbers, o.outputs)) for o in examined)
    finite = int(torch.isfinite(check.expected.double()).sum())
    reached = (outcome.case.name, check.name, int(_elsewhere(check).sum()), finite)
    kind: FindingKind
    if origin.kind in UNDEFINED:
        kind = UndefinedNumbers(origin.kind, origin.tensor, *reached)
        return Finding(kind, origin.place, explained, cases)
    grown = None
    overflows = [b for b, _ in seen.infinite.values() if b.kind == "overflow"]
    if origin.kind in ("inf over inf", "zero times inf", "inf minus inf") and len(overflows) == 1:
        first = overflows[0]
        elsewhere = first.place and origin.place and first.place.line != origin.place.line
        grown = first if origin.kind == "inf over inf" or elsewhere else None
    name = "overflow" if origin.kind in ("inf over inf", "overflow") and overflows else origin.kind
    where = grown.place if grown is not None else None
    line, text = (origin.place.line, origin.place.text) if origin.place is not None else (0, "")
    zero = zero_of(origin.place, where) if origin.kind == PRODUCT else ""
    kind = NanOrigin(
        origin.kind,
        grown is not None,
        where,
        *reached,
        called=(name,),
        zero=zero,
        unread=_unread(exercise, examined),
        blind=not all(
            bool(torch.isfinite(c.expected.double()).all()) for c in outcome.outputs if _comparable(c)
        ),
        line=line,
        text=text,
        infinities=origin.infinities,
        first=origin.number <= 1,  # they are numbered as they appear
    )
    return Finding(kind, origin.place, explained, cases)


def _unread(exercise: Exercise, examined: list[Outcome]) -> tuple[str, ...]:
    """Inputs that no program reads in any of these cases, where all that programs read are inputs."""
    never: set[str] | None = None
    for outcome in examined:
        seen = outcome.observation
        if seen is None:
            return ()
        inputs = exercise.inputs(outcome.case, outcome.case.generator())
        read = sum(int((~mask).sum()) * inputs[n].element_size() for n, mask in seen.unread.items())
        if read != sum(traffic.unique_loaded for traffic in seen.tensors.values()):
            return ()  # a copy may be read
        tensors = {n for n, x in inputs.items() if isinstance(x, torch.Tensor) and x.is_floating_point()}
        never = tensors - set(seen.unread) if never is None else never - set(seen.unread)
    return tuple(sorted(never or ()))


def zero_of(place: Place | None, infinity: Place | None) -> str:
    """What the 0 is that was multiplied by an infinity, as far as the lines of both show it: a key of ZEROS.

    It is empty for a mask's, and in a product of matrices, whose padding is 0.
    """
    text = place.text if place is not None else ""
    if infinity is not None and "exp" in infinity.text and "exp" in text and "dot(" not in text:
        return "exponential"
    return "" if MASKED.search(text) else "unknown"
