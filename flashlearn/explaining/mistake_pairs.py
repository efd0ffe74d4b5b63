"""Two named mistakes made at once, computed from what each of them gives.

Where both are faults by name of one formula, it is computed with both. Else three laws say what two
independent mistakes A and B give together, with R the right answer: factors multiply (A · B / R), lost or
added terms add up (A + B − R), and mistakes in different places stay where they are.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flashlearn.exercise import Mistake, combine_faults
from flashlearn.explaining.matching import fit, work
from flashlearn.explaining.predictions import Candidate, Outputs, Predictions, sizes_in
from flashlearn.judging.references import largest_error
from flashlearn.later import torch
from flashlearn.outcome import Outcome, Status

MIN_CHANGED, NAN_WEIGHT = 16, 4
"""Numbers that each of two mistakes must change, for the other alone not to be the explanation. What
is a number for one of the two alone counts four times: rounding does not make it."""

FEWEST_CHANGED = 6
"""So many where the wrong cases have few numbers; else a sixth of these, up to MIN_CHANGED."""

UNKNOWN = Counter({"": MIN_CHANGED})
"""What cannot be compared changes enough."""

FORMULA_COST, NUMBERS_PER_UNIT, TRIAL_FACTOR = 8.0, 1024.0, 10.0
"""What a formula costs whatever its size, and the numbers that cost one unit more. A pair that fits in one
case is tried on others, which costs this factor more."""


@dataclass
class WorkBudget:
    """Work that may still be spent, in units of some fifty microseconds on a common laptop.

    Work is counted and time is not: so a verdict is the same on every machine.
    """

    left: float

    def spend(self, candidate: Candidate, probe: Outcome, times: float = 1.0) -> None:
        """Count one evaluation of the candidate in the probe's case."""
        self.left -= times * (1.0 if candidate.law else FORMULA_COST + work(probe) / NUMBERS_PER_UNIT)


def pair_candidates(
    predictions: Predictions, probe: Outcome, budget: WorkBudget, anchors: Sequence[tuple[str, ...]] = ()
) -> Iterator[Candidate]:
    """Candidates for two mistakes at once that give the learner's numbers in the `probe` case.

    Only torch formulas are combined: a pair of kernels would have to be written. Mistakes as they are
    declared come first, those that lead nearest to the learner's numbers before the others, and after two
    that fit the other ways to make one of them; then each with the other ways to make another, and with those
    of the catalogue. With `anchors` one of the two is among these. It ends when the `budget` does.
    """
    own, more = predictions.exercise.explained.mistakes, predictions.exercise.explained.catalogue
    plain = sorted(
        _visible_formulas(predictions, probe, own, anchors, ways=False),
        key=lambda candidate: _remoteness(predictions, probe, candidate),
    )
    others = [*_visible_formulas(predictions, probe, own, anchors, ways=True)]
    others += _visible_formulas(predictions, probe, more, anchors, ways=False)
    small = _within_one_tile(predictions, probe)
    for one, other in (*_nearest_first(plain), *itertools.product(plain, others)):
        if one.names == other.names or (anchors and not {one.names, other.names} & set(anchors)):
            continue
        if budget.left < 0:
            return
        met = False
        for candidate in _fitting(predictions, probe, (one, other), small, budget):
            met = True
            yield candidate
        again = [(a, b) for a, c in ((one, other), (other, one)) for b in others if b.names == c.names]
        for pair in again if met and other in plain else ():
            yield from _fitting(predictions, probe, pair, small, budget)


def _fitting(
    predictions: Predictions,
    probe: Outcome,
    pair: tuple[Candidate, Candidate],
    small: bool,
    budget: WorkBudget,
) -> Iterator[Candidate]:
    """The ways in which two mistakes meet, with each of the learner's tiles, if they fit in the probe."""
    for candidates in _pair(predictions, *pair):
        tried = {id(c): c for c in (candidates[0], candidates[-1])} if small else {}
        fitting = (c for c in (tried.values() or candidates) if _fits(predictions, probe, c, budget))
        if next(fitting, None) is not None:
            budget.spend(candidates[0], probe, TRIAL_FACTOR * len(candidates))
            yield from candidates


def _nearest_first(ordered: Sequence[Candidate]) -> list[tuple[Candidate, Candidate]]:
    """All pairs of candidates in their order: those of the first ones before those with a later one."""
    pairs = itertools.combinations(range(len(ordered)), 2)
    return [(ordered[i], ordered[j]) for i, j in sorted(pairs, key=lambda pair: (sum(pair), pair))]


def _remoteness(predictions: Predictions, probe: Outcome, candidate: Candidate) -> float:
    """How far the learner's numbers are from those of a candidate, as a share of their error."""
    apart = 0.0
    predicted = next(predictions.of(candidate, probe), ())
    for p, check in zip(predicted, probe.outputs, strict=False):
        if p.shape != check.got.shape or check.ok:
            continue
        gap = (p.double() - check.got.double()).abs()
        error = (check.expected.double() - check.got.double()).abs()
        both = torch.isfinite(gap) & torch.isfinite(error)
        apart += float(gap[both].sum()) / max(float(error[both].sum()), 1e-30) if bool(both.any()) else 1.0
    return apart


def both_needed(predictions: Predictions, pair: Candidate, failing: Sequence[Outcome]) -> bool:
    """True if neither mistake alone gives what the two give: each changes enough finite numbers."""
    tile = _tile(pair.compute)
    numbers = sum((_numbers(outcome) for outcome in failing), Counter())
    for part in pair.parts:
        at_tile = [f for f in predictions.at_tiles(part.compute) if _tile(f) in (None, tile)]
        alone = Candidate(part.names, at_tile[0] if at_tile else part.compute)
        changed = sum((_changed(predictions, pair, alone, outcome) for outcome in failing), Counter())
        whole = changed.total() >= _enough(numbers.total())
        if not whole and not any(count >= _enough(numbers[name]) for name, count in changed.items()):
            return False
    return True


def _enough(numbers: int) -> int:
    """How many of so many numbers a mistake must change: an output may have few of them."""
    return min(MIN_CHANGED, max(FEWEST_CHANGED, numbers // 6))


def _numbers(outcome: Outcome) -> Counter[str]:
    return Counter(
        {c.name: c.expected.numel() for c in outcome.outputs if isinstance(c.expected, torch.Tensor)}
    )


def _tile(formula: Callable) -> tuple[int, int] | None:
    return getattr(formula, "keywords", {}).get("tile")


def _changed(predictions: Predictions, pair: Candidate, alone: Candidate, outcome: Outcome) -> Counter[str]:
    """How many numbers of the case's outputs differ clearly, or are none for the pair alone.

    Of the pair's roundings the one that fits counts, and of the single mistake's that which comes nearest.
    """
    both = list(predictions.of(pair, outcome))
    two = next((p for p in both if all(map(fit, p, outcome.outputs))), next(iter(both), None))
    if two is None:
        return UNKNOWN
    counts = (_differing(two, one, outcome) for one in predictions.of(alone, outcome))
    return min(counts, key=Counter.total, default=UNKNOWN)


def _differing(two: Outputs, one: Outputs, outcome: Outcome) -> Counter[str]:
    if [x.shape for x in two] != [x.shape for x in one]:
        return UNKNOWN
    count: Counter[str] = Counter()
    for a, b, check in zip(two, one, outcome.outputs, strict=True):
        gap = (a.double() - b.double()).abs()
        count[check.name] += int((torch.isfinite(gap) & (gap > 4 * check.allowed)).sum())
        count[check.name] += NAN_WEIGHT * int((torch.isfinite(b) != torch.isfinite(a)).sum())
    return count


def _pair(predictions: Predictions, one: Candidate, other: Candidate) -> Iterator[list[Candidate]]:
    """Ways in which two mistakes meet, each with the learner's tiles."""
    names = (*one.names, *other.names)
    both = combine_faults(one.compute, other.compute)
    if both is not None:
        yield [Candidate(names, formula, parts=(one, other)) for formula in predictions.at_tiles(both)]
    else:
        for law in (_product, _sum, _places):
            yield [Candidate(names, law, parts=(one, other), law=True)]


def _within_one_tile(predictions: Predictions, probe: Outcome) -> bool:
    """True if the probe is so small that tiles differ in their padding alone."""
    lengths = [size for name, size in probe.case.sizes.items() if name.startswith("S")]
    smallest = min(min(sizes_in(tile, probe.case.name)) for tile in predictions.tiles())
    return bool(lengths) and max(lengths) <= smallest


def _visible_formulas(
    predictions: Predictions,
    probe: Outcome,
    mistakes: Mapping[str, Mistake],
    anchors: Sequence[tuple[str, ...]],
    ways: bool,
) -> Iterator[Candidate]:
    """Each mistake's formula (or its other `ways`), if it is defined in the probe case and wrong there.

    An anchor shows in other cases: here the second mistake may be alone.
    """
    if not all(isinstance(c.got, torch.Tensor) for c in probe.outputs):
        return
    for name, mistake in mistakes.items():
        if mistake.wrong is None or mistake.status is not Status.WRONG:
            continue
        for formula in mistake.also if ways else (mistake.wrong,):
            candidate = Candidate((name,), formula)
            predicted = predictions.of(candidate, probe)
            if any(candidate.names in anchors or _wrong_there(one, probe) for one in predicted):
                yield candidate


def _wrong_there(predicted: Outputs, probe: Outcome) -> bool:
    if len(predicted) != len(probe.outputs):
        return False
    pairs = list(zip(predicted, probe.outputs, strict=True))
    return all(p.shape == c.expected.shape for p, c in pairs) and any(
        largest_error(p.to(c.got.dtype), c.expected) > 2 * c.allowed for p, c in pairs
    )


def _fits(predictions: Predictions, probe: Outcome, candidate: Candidate, budget: WorkBudget) -> bool:
    """Whether the candidate gives the probe's numbers."""
    for predicted in predictions.of(candidate, probe):
        budget.spend(candidate, probe)
        if len(predicted) == len(probe.outputs) and all(
            fit(p, c) is not None for p, c in zip(predicted, probe.outputs, strict=True)
        ):
            return True
        if all(bool(torch.isfinite(c.got).all()) for c in probe.outputs if not c.problem):
            return False  # finite numbers that differ by more than rounding do so at any precision
    return False


def _product(a, b, right):
    return torch.where(right == 0, 0.0, a * b / torch.where(right == 0, 1.0, right))


def _sum(a, b, right):
    return a + b - right


def _places(a, b, right):
    """Raises ValueError where both change a number: what they make of it together is not known."""
    noise = 1e-9 * right.abs().max() if right.numel() else 0.0
    moved_a, moved_b = (a - right).abs() > noise, (b - right).abs() > noise
    if bool((moved_a & moved_b).any()):
        raise ValueError("both change one number")
    return torch.where(moved_a, a, torch.where(moved_b, b, right))
