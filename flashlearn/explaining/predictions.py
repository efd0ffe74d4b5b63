"""What each named mistake would have given in a case: computed once, on demand, and remembered.

Nothing of this depends on the learner's answer, so the second check of an exercise has most of it at hand.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field

import torch

from flashlearn.exercise import Exercise, Inputs, Mistake, Tiles
from flashlearn.explaining.remembered import Remembered, identity
from flashlearn.judging.cases import run_observed
from flashlearn.judging.tolerance import convert
from flashlearn.outcome import Outcome, Status
from flashlearn.running.plain import as_tuple

Outputs = tuple[torch.Tensor, ...]
Tile = tuple[int, int]

USUAL: Tile = (32, 32)
"""The tile that declared formulas take unless they are told otherwise."""

LIKELY: tuple[Tile, ...] = (USUAL, (64, 64), (16, 16), (128, 128), (64, 32), (32, 64), (128, 64), (64, 16))
"""Tiles that are tried where no launch was seen, and outputs are all there is."""

WIDTH = re.compile(r"(^|_)(B?D|BD|DIM|DMODEL|HEAD_?DIM|HEADDIM)$|BLOCK_D", re.IGNORECASE)
"""Names of constants that are no tile of queries or keys, but of the head's dimension."""


@dataclass(frozen=True)
class Candidate:
    """One way to make a mistake, or two: a torch formula, or a kernel, which costs a run.

    Two have `parts`. With `law`, `compute` takes what each part gives, and the right output.
    """

    names: tuple[str, ...]
    compute: Callable[..., Outputs | torch.Tensor]
    costly: bool = False
    parts: tuple[Candidate, ...] = ()
    law: bool = False

    @property
    def key(self) -> Hashable:
        """Equal for candidates that compute the same."""
        f = self.compute
        if self.law or not isinstance(f, functools.partial):
            return (f, *(part.key for part in self.parts if self.law))
        return (f.func, f.args, tuple(sorted(f.keywords.items(), key=lambda item: item[0])))


_remembered = Remembered(most=128 << 20)


@dataclass
class Predictions:
    """Outputs of candidates by case. A candidate may have no answer for a case."""

    exercise: Exercise
    outcomes: list[Outcome]
    _inputs: dict[str, Inputs] = field(default_factory=dict)
    _tiles: list[Tile] | None = None

    def of(self, candidate: Candidate, outcome: Outcome) -> Iterator[Outputs]:
        """What the candidate gives in the outcome's case: in fp64, in fp32, at the inputs' own precision."""
        if candidate.costly or candidate.law:
            precisions: tuple[torch.dtype | None, ...] = (None,)
        elif outcome.case.dtype.itemsize == 2:
            precisions = (torch.float64, torch.float32, None)
        else:
            precisions = (torch.float64, torch.float32)
        compute = self._run if candidate.costly else self._by_law if candidate.law else self._evaluate
        where = (self.exercise.name, self.exercise.inputs, identity(outcome.case), candidate.key)
        for precision in precisions:
            predicted = _remembered.get(
                (*where, precision), lambda p=precision: compute(candidate, outcome, p)
            )
            if predicted is not None:
                yield predicted

    def inputs(self, outcome: Outcome) -> Inputs:
        """The case's inputs, drawn once."""
        if outcome.case.name not in self._inputs:
            self._inputs[outcome.case.name] = self.exercise.inputs(outcome.case, outcome.case.generator())
        return self._inputs[outcome.case.name]

    def candidates(self) -> Iterator[Candidate]:
        """Every declared wrong answer: formulas first, kernels, which must be run, last."""
        yield from self._made_by(self.exercise.explained.mistakes)

    def catalogue(self) -> Iterator[Candidate]:
        """The mistakes that others make in kernels like this one (`exercise.explained.catalogue`)."""
        yield from self._made_by(self.exercise.explained.catalogue)

    def _made_by(self, mistakes: Mapping[str, Mistake]) -> Iterator[Candidate]:
        wrong = {name: m for name, m in mistakes.items() if m.status == Status.WRONG.name}
        for name, mistake in wrong.items():
            if mistake.wrong is not None:
                for formula in (mistake.wrong, *mistake.also):
                    for tiled in self.at_tiles(formula):
                        yield Candidate((name,), tiled)
        for name, mistake in wrong.items():
            if mistake.wrong is None and mistake.launcher is not None:
                yield Candidate((name,), mistake.launcher, costly=True)

    def at_tiles(self, formula: Callable) -> list[Callable]:
        """A formula with the learner's tiles, if it has tiles and its faults depend on them."""
        if not (isinstance(formula, functools.partial) and "faults" in formula.keywords):
            return [formula]
        known: Tiles | None = getattr(formula.func, "tiles", None)
        if known is None or not formula.keywords["faults"] & known.faults:
            return [formula]
        tiles = [tile for tile in self.tiles() if tile[0] == tile[1] or not known.one_side]
        return [functools.partial(formula, tile=tile) for tile in tiles]

    def tiles(self) -> list[Tile]:
        """Tiles that the learner's launches may work with: pairs of their power-of-two constants."""
        if self._tiles is None:
            sizes = self._sizes()
            self._tiles = [(a, b) for a in sizes for b in sizes] or list(self._unobserved())
        return self._tiles

    def _unobserved(self) -> tuple[Tile, ...]:
        seen = any(o.launches for o in self.outcomes)
        return (USUAL,) if seen else LIKELY

    def _sizes(self) -> list[int]:
        """Block sizes that are the same in every launch; all of them if there are none of these."""
        seen: dict[str, set[int]] = {}
        for outcome in self.outcomes:
            for launch in outcome.launches:
                for name, value in launch.constexprs.items():
                    if type(value) is int and 8 <= value <= 256 and not value & (value - 1):
                        seen.setdefault(name, set()).add(value)
        blocks = {name: values for name, values in seen.items() if not WIDTH.search(name)} or seen
        fixed = [next(iter(values)) for values in blocks.values() if len(values) == 1]
        every = fixed or [value for values in blocks.values() for value in sorted(values)]
        return list(dict.fromkeys(every))[:3]

    def _evaluate(self, candidate: Candidate, outcome: Outcome, dtype: torch.dtype | None) -> Outputs | None:
        inputs = self.inputs(outcome)
        try:
            return as_tuple(candidate.compute(**(inputs if dtype is None else convert(inputs, dtype))))
        except (RuntimeError, IndexError, ValueError):  # a wrong formula need not fit every case's shapes
            return None

    def _by_law(self, candidate: Candidate, outcome: Outcome, _: torch.dtype | None) -> Outputs | None:
        each = [next(self.of(part, outcome), None) for part in candidate.parts]
        right = [check.expected for check in outcome.outputs]
        if any(p is None or [x.shape for x in p] != [r.shape for r in right] for p in each):
            return None
        return tuple(
            candidate.compute(*(x.double() for x in given), r) for *given, r in zip(*each, right, strict=True)
        )

    def _run(self, candidate: Candidate, outcome: Outcome, _: torch.dtype | None) -> Outputs | None:
        twin = run_observed(self.exercise, candidate.compute, outcome.case)
        if not twin.outputs or twin.status not in (Status.WRONG, Status.PASS):
            return None
        return None if any(check.problem for check in twin.outputs) else tuple(c.got for c in twin.outputs)
