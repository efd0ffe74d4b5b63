"""What each named mistake would have given in a case: computed once, on demand, and remembered."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch

from flashlearn.exercise import Exercise, Inputs, Mistake
from flashlearn.outcome import Outcome, Status
from flashlearn.run import run_observed
from flashlearn.tolerance import as_tuple, convert

Outputs = tuple[torch.Tensor, ...]
Tile = tuple[int, int]

USUAL: Tile = (32, 32)
"""The tile that declared formulas take unless they are told otherwise."""

LIKELY: tuple[Tile, ...] = (USUAL, (64, 64), (16, 16), (128, 128), (64, 32), (32, 64), (128, 64), (64, 16))
"""Tiles that are tried where no launch was observed, and outputs are all there is."""

WIDTH = re.compile(r"(^|_)(B?D|BD|DIM|DMODEL|HEAD_?DIM|HEADDIM)$|BLOCK_D", re.IGNORECASE)
"""Names of constants that are no tile of queries or keys, but of the head's dimension."""


@dataclass(frozen=True)
class Candidate:
    """One way to make a mistake, or two: a torch formula, or a kernel, which costs a run."""

    names: tuple[str, ...]
    compute: Callable[..., Outputs | torch.Tensor]
    costly: bool = False


@dataclass
class Predictions:
    """Outputs of candidates by case. A candidate may have no answer for a case."""

    exercise: Exercise
    outcomes: list[Outcome]
    _known: dict[tuple, Outputs | None] = field(default_factory=dict)
    _inputs: dict[str, Inputs] = field(default_factory=dict)
    _tiles: list[Tile] | None = None

    def of(self, candidate: Candidate, outcome: Outcome) -> Iterator[Outputs]:
        """What the candidate gives in the outcome's case: in fp64, in fp32, at the inputs' own precision."""
        if candidate.costly:
            precisions: tuple[torch.dtype | None, ...] = (None,)
        elif outcome.case.dtype.itemsize == 2:
            precisions = (torch.float64, torch.float32, None)
        else:
            precisions = (torch.float64, torch.float32)
        for precision in precisions:
            key = (candidate, outcome.case.name, precision)
            if key not in self._known:
                run = self._run if candidate.costly else self._evaluate
                self._known[key] = run(candidate.compute, outcome, precision)
            if self._known[key] is not None:
                yield self._known[key]

    def inputs(self, outcome: Outcome) -> Inputs:
        """The case's inputs, drawn once."""
        if outcome.case.name not in self._inputs:
            self._inputs[outcome.case.name] = self.exercise.inputs(outcome.case, outcome.case.generator())
        return self._inputs[outcome.case.name]

    def candidates(self) -> Iterator[Candidate]:
        """Every declared wrong answer: formulas first, kernels, which must be run, last."""
        yield from self._made_by(self.exercise.mistakes)

    def catalogue(self) -> Iterator[Candidate]:
        """The mistakes that others make in kernels like this one (`Exercise.catalogue`)."""
        yield from self._made_by(self.exercise.catalogue)

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
        if "tile" not in inspect.signature(formula.func).parameters:
            return [formula]
        module = sys.modules[formula.func.__module__]
        if not formula.keywords["faults"] & getattr(module, "TILED", formula.keywords["faults"]):
            return [formula]
        one_side = getattr(module, "SQUARE", False)
        tiles = [tile for tile in self.tiles() if tile[0] == tile[1] or not one_side]
        return [functools.partial(formula, tile=tile) for tile in tiles]

    def tiles(self) -> list[Tile]:
        """Tiles that the learner's launches may work with: pairs of their power-of-two constants."""
        if self._tiles is None:
            sizes = self._sizes()
            self._tiles = [(a, b) for a in sizes for b in sizes] or list(self._unobserved())
        return self._tiles

    def _unobserved(self) -> tuple[Tile, ...]:
        seen = any(o.observation is not None for o in self.outcomes)
        return (USUAL,) if seen else LIKELY

    def _sizes(self) -> list[int]:
        """Block sizes that are the same in every launch; all of them if there are none of these."""
        seen: dict[str, set[int]] = {}
        for outcome in self.outcomes:
            for launch in outcome.observation.launches if outcome.observation is not None else ():
                for name, value in launch.constexprs.items():
                    if type(value) is int and 8 <= value <= 256 and not value & (value - 1):
                        seen.setdefault(name, set()).add(value)
        blocks = {name: values for name, values in seen.items() if not WIDTH.search(name)} or seen
        fixed = [next(iter(values)) for values in blocks.values() if len(values) == 1]
        every = fixed or [value for values in blocks.values() for value in sorted(values)]
        return list(dict.fromkeys(every))[:3]

    def _evaluate(self, formula: Callable, outcome: Outcome, dtype: torch.dtype | None) -> Outputs | None:
        inputs = self.inputs(outcome)
        try:
            return as_tuple(formula(**(inputs if dtype is None else convert(inputs, dtype))))
        except (RuntimeError, IndexError, ValueError):  # a wrong formula need not fit every case's shapes
            return None

    def _run(self, launcher: Callable, outcome: Outcome, _: torch.dtype | None) -> Outputs | None:
        twin = run_observed(self.exercise, launcher, outcome.case)
        if not twin.outputs or twin.status not in (Status.WRONG, Status.PASS):
            return None
        return None if any(check.problem for check in twin.outputs) else tuple(c.got for c in twin.outputs)
