"""What each named mistake would have given in a case: computed once, on demand, and cached.

Nothing of this depends on the learner's answer, so the second check of an exercise has most of it at hand.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flashlearn.exercise import Case, Exercise, Inputs, Mistake, Tiles
from flashlearn.judging.cases import run_observed
from flashlearn.judging.references import convert, widen
from flashlearn.later import torch
from flashlearn.outcome import Outcome, Status
from flashlearn.running.values import as_tuple

Outputs = tuple[torch.Tensor, ...]
Tile = tuple[int, int]

USUAL: Tile = (32, 32)
"""The tile that declared formulas take by default."""

LIKELY: tuple[Tile, ...] = (USUAL, (64, 64), (16, 16), (128, 128), (64, 32), (32, 64), (128, 64), (64, 16))
"""Tiles that are tried where no launch was seen, and outputs are all there is."""

SMALLEST, LARGEST = 8, 256
"""What a block's size may be that is the same in all cases; other constants are flags, say."""

WIDTH = re.compile(r"(^|_)(B?D|BD|DIM|DMODEL|HEAD_?DIM|HEADDIM)$|BLOCK_D", re.IGNORECASE)
"""Names of constants that are no tile of queries or keys, but of the head's dimension."""


@dataclass(frozen=True)
class Blocks:
    """One side of the learner's tiles, which differs from case to case: the block's size in each case."""

    sizes: frozenset[tuple[str, int]]

    def at(self, case: str) -> int:
        """The size in a case; the usual one where no launch was seen."""
        return dict(self.sizes).get(case, USUAL[0])


Side = int | Blocks


def sizes_in(tile: tuple[Side, Side], case: str) -> Tile:
    """The tile in numbers, in one case."""
    rows, columns = (side.at(case) if isinstance(side, Blocks) else side for side in tile)
    return rows, columns


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

    def at(self, case: str) -> Candidate:
        """The same with the tile that the learner has in the case."""
        tile = getattr(self.compute, "keywords", {}).get("tile", ())
        if not any(isinstance(side, Blocks) for side in tile):
            return self
        return replace(self, compute=functools.partial(self.compute, tile=sizes_in(tile, case)))

    @property
    def key(self) -> Hashable:
        """Equal for candidates that compute the same."""
        f = self.compute
        if self.law or not isinstance(f, functools.partial):
            return (f, *(part.key for part in self.parts if self.law))
        return (f.func, f.args, tuple(sorted(f.keywords.items(), key=lambda item: item[0])))


def faults_of(formula: Callable) -> frozenset[str]:
    """The faults by name that a formula is computed with; none for one that has no such names."""
    return getattr(formula, "keywords", {}).get("faults", frozenset())


class ResultCache:
    """Results that the next check will need again: tuples of tensors (or None) by key.

    At most `max_bytes` bytes of them are held; the oldest go first.
    """

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.bytes_held = 0
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is known under the key; else what `make` gives, which is remembered."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        value = make()
        with self._lock:
            if key not in self._results:
                self._results[key] = value
                self.bytes_held += _bytes_of(value)
            while self.bytes_held > self.max_bytes and len(self._results) > 1:
                _, oldest = self._results.popitem(last=False)
                self.bytes_held -= _bytes_of(oldest)
        return value


def case_key(case: Case) -> Hashable:
    """Equal for cases whose inputs are drawn alike."""
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in vars(case).values()
    )


def _bytes_of(value: Any) -> int:
    tensors = value if isinstance(value, tuple) else (value,)
    return 256 + sum(t.untyped_storage().nbytes() for t in tensors if isinstance(t, torch.Tensor))


_cache = ResultCache(max_bytes=128 << 20)


@dataclass
class Predictions:
    """Outputs of candidates by case. A candidate may have no answer for a case."""

    exercise: Exercise
    outcomes: list[Outcome]
    _inputs: dict[str, Inputs] = field(default_factory=dict)
    _tiles: list[tuple[Side, Side]] | None = None

    def of(self, candidate: Candidate, outcome: Outcome) -> Iterator[Outputs]:
        """What the candidate gives in the outcome's case: in fp64, in fp32, at the inputs' own precision."""
        candidate = candidate.at(outcome.case.name)
        if candidate.costly or candidate.law:
            precisions: tuple[torch.dtype | None, ...] = (None,)
        elif outcome.case.dtype.itemsize == 2:
            precisions = (torch.float64, torch.float32, None)
        else:
            precisions = (torch.float64, torch.float32)
        compute = self._run if candidate.costly else self._by_law if candidate.law else self._evaluate
        where = (self.exercise.name, self.exercise.inputs, case_key(outcome.case), candidate.key)
        for precision in precisions:
            predicted = _cache.get((*where, precision), lambda p=precision: compute(candidate, outcome, p))
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
        wrong = {name: m for name, m in mistakes.items() if m.status is Status.WRONG}
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

    def tiles(self) -> list[tuple[Side, Side]]:
        """Tiles that the learner's launches may work with: pairs of their power-of-two constants."""
        if self._tiles is None:
            sides = self._sides()
            pairs = [(a, b) for a in sides for b in sides]
            self._tiles = self._of_each_kernel() or pairs or list(self._unobserved())
        return self._tiles

    def _unobserved(self) -> tuple[Tile, ...]:
        seen = any(o.launches for o in self.outcomes)
        return (USUAL,) if seen else LIKELY

    def _sides(self) -> list[Side]:
        """Block sizes that are the same in every launch; if there are none of these, those of each case."""
        blocks = self._blocks()
        fixed = [size for cases in blocks.values() for size in _sizes(cases) if len(_sizes(cases)) == 1]
        return list(dict.fromkeys(fixed or (side for cases in blocks.values() for side in _by_case(cases))))[
            :3
        ]

    def _of_each_kernel(self) -> list[tuple[Side, Side]]:
        """Where kernels give other sizes to one constant, and no size is the same throughout: each one's own.

        Nothing is known (and the list empty) where a kernel is launched with several sizes in one case.
        """
        if all(len(sizes) == 1 for cases in self._blocks().values() for sizes in cases.values()):
            return []
        tiles: list[tuple[Side, Side]] = []
        for kernel in dict.fromkeys(launch.name for o in self.outcomes for launch in o.launches):
            own = self._blocks(kernel)
            if any(len(sizes) > 1 for cases in own.values() for sizes in cases.values()):
                return []
            if len(own) > 1 and any(len(_sizes(cases)) > 1 for cases in own.values()):
                sides = [side for cases in own.values() for side in _by_case(cases)][:2]
                tiles += [(a, b) for a in sides for b in sides]
        return list(dict.fromkeys(tiles))

    def _blocks(self, kernel: str = "") -> dict[str, dict[str, set[int]]]:
        """Constants that may be sides of tiles, of all kernels or of one: their sizes in each case."""
        seen: dict[str, dict[str, set[int]]] = {}
        for outcome in self.outcomes:
            for launch in (x for x in outcome.launches if not kernel or x.name == kernel):
                for name, value in launch.constexprs.items():
                    if type(value) is int and value > 0 and not value & (value - 1):
                        seen.setdefault(name, {}).setdefault(outcome.case.name, set()).add(value)
        seen = {name: cases for name, cases in seen.items() if _is_block(_sizes(cases))}
        return {name: cases for name, cases in seen.items() if not WIDTH.search(name)} or seen

    def _evaluate(self, candidate: Candidate, outcome: Outcome, dtype: torch.dtype | None) -> Outputs | None:
        inputs = self.inputs(outcome)
        try:
            made = as_tuple(candidate.compute(**(inputs if dtype is None else convert(inputs, dtype))))
            return tuple(widen(t) if isinstance(t, torch.Tensor) else t for t in made)
        except (RuntimeError, IndexError, ValueError):  # a wrong formula need not fit every case's shapes
            return None

    def _by_law(self, candidate: Candidate, outcome: Outcome, _: torch.dtype | None) -> Outputs | None:
        each = [next(self.of(part, outcome), None) for part in candidate.parts]
        right = [check.expected for check in outcome.outputs]
        if any(p is None or [x.shape for x in p] != [r.shape for r in right] for p in each):
            return None
        try:
            return tuple(
                candidate.compute(*(x.double() for x in given), r)
                for *given, r in zip(*each, right, strict=True)
            )
        except ValueError:  # it says nothing about these two
            return None

    def _run(self, candidate: Candidate, outcome: Outcome, _: torch.dtype | None) -> Outputs | None:
        twin = run_observed(self.exercise, candidate.compute, outcome.case)
        if not twin.outputs or twin.status not in (Status.WRONG, Status.PASS):
            return None
        return None if any(check.problem for check in twin.outputs) else tuple(c.got for c in twin.outputs)


def _sizes(cases: Mapping[str, set[int]]) -> list[int]:
    """All sizes of one constant, whatever the case."""
    return sorted(set().union(*cases.values()))


def _is_block(sizes: list[int]) -> bool:
    return sizes[-1] >= SMALLEST and (len(sizes) > 1 or sizes[-1] <= LARGEST)


def _by_case(cases: Mapping[str, set[int]]) -> list[Side]:
    """A block whose size is known in each case; else all sizes, each as if it were for all cases."""
    if all(len(sizes) == 1 for sizes in cases.values()):
        return [Blocks(frozenset((case, min(sizes)) for case, sizes in cases.items()))]
    return [size for size in _sizes(cases) if SMALLEST <= size <= LARGEST]
