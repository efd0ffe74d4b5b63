"""What is asked of a learner: an `Exercise` is a value, and so is each of its `Case`s.

    >>> case = Case("ragged 7×37", sizes={"rows": 7, "columns": 37}, dtype=torch.float16)
    >>> case.generator().initial_seed() == case.seed
    True

This module knows nothing of how an exercise is checked, timed or shown.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Inputs = dict[str, Any]
"""Arguments of a launcher by parameter name, in the order of its signature."""


class Kind(enum.Enum):
    """Who computes: the learner's Triton kernel, plain torch, or sympy."""

    KERNEL = "kernel"
    TORCH = "torch"
    SYMBOLIC = "symbolic"


@dataclass(frozen=True)
class Case:
    """One draw of inputs: sizes, precision, layout and what is special about the data.

    `sizes` are dimensions by name, `magnitude` scales normally distributed data, `layout` is
    "contiguous" or "strided" (a view of a larger buffer), `data` names a special filling that the
    exercise's `inputs` understands, `tags` say what the case is about ("ragged", "half", …) so that
    a diagnosis can speak of a subset. Cases with `gpu` run only compiled: they are too large here.
    """

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    dtype: torch.dtype = torch.float32
    magnitude: float = 1.0
    layout: str = "contiguous"
    data: str = "normal"
    seed: int = 0
    tags: frozenset[str] = frozenset()
    gpu: bool = False

    def generator(self) -> torch.Generator:
        """A fresh generator on the CPU, seeded by the case: the same inputs on every machine."""
        return torch.Generator().manual_seed(self.seed)


@dataclass(frozen=True)
class Mistake:
    """A mistake people make, declared so that it can be recognised by name.

    `wrong` computes what a learner with this mistake would get, in torch (or sympy), with the
    signature of the exercise's reference; or `launcher` is a real function with a real kernel that
    makes it (where torch cannot say it: a missing mask, a race), to be answered with `status`.
    `sentence` says to the learner what happened, `next_step` what to look at. `also` are
    formulas of the same mistake made in another way. A `wrong` that is a functools.partial with `faults`
    takes the shape of the tiles as `tile`, and is tried with the learner's.
    """

    sentence: str
    next_step: str = ""
    wrong: Callable[..., Any] | None = None
    launcher: Callable[..., Any] | None = None
    status: str = "WRONG"
    also: tuple[Callable[..., Any], ...] = ()


@dataclass(frozen=True)
class Work:
    """Least work of one call, from the inputs: operations (flop) and bytes that must move."""

    operations: float
    bytes: float


@dataclass(frozen=True)
class Exercise:
    """One graded task of a lesson.

    `inputs(case, generator)` draws the arguments (CPU tensors and Python scalars, or sympy
    objects); `reference(**inputs)` gives the true outputs when called with fp64 inputs and, called
    at the learner's precision, is the first twin; `twins` are further same-precision spellings.
    `outputs` names the returned tensors in order. `work(inputs)` is the least work of a call; a
    kernel that did less than half of its operations did not compute the answer. Where `accumulates`,
    outputs are sums and half-precision results are also held to a bound on their rms error.
    Without `launcher_arithmetic` the exercise is itself arithmetic of single elements, and torch may do none
    of it with the inputs in the launcher.
    `output_dtypes` names outputs whose dtype is not what the reference returns for the case's inputs
    (lse and delta are fp32). `peer` is the torch function that timing compares with, on
    `timing_case`. `call(function, inputs)` replaces the plain call where outputs are not what the
    function returns (gradients of it, say). `review(function)` looks at an answer whose cases all pass
    and returns a sentence if it still is not what was asked for, else nothing. `explain(outcomes, function)`
    says what cases that came out wrong amount to where no named mistake does: a flashlearn.outcome.Finding.
    `says(case)` is what a case that came out wrong says of itself, where "off by so much" would mean nothing.
    `weights` reads P out of an attention kernel: (read(launcher, inputs), right(inputs)), see
    flashlearn.exercises.readouts. `quantities(inputs)` gives what a right kernel's tiles hold on their way
    (flashlearn.exercises.quantities), by which the first value that departs is found; not where
    `unsolved(function)` holds: then finding that line is the exercise.
    `catalogue` are mistakes that the exercise does not teach and a learner may still make: formulas that a
    diagnosis tries after those of `mistakes`.
    Where there are `real_sizes` (B, H, S, D), offsets of [B, H, S, D] inputs of that size must not overflow.
    """

    name: str
    lesson: str
    kind: Kind
    title: str
    signature: str
    outputs: tuple[str, ...]
    inputs: Callable[[Case, torch.Generator], Inputs]
    reference: Callable[..., Any]
    cases: tuple[Case, ...]
    hints: tuple[str, str, str]
    mistakes: Mapping[str, Mistake] = field(default_factory=dict)
    catalogue: Mapping[str, Mistake] = field(default_factory=dict)
    twins: tuple[Callable[..., Any], ...] = ()
    points: int = 1
    gradient: bool = False
    accumulates: bool = True
    launcher_arithmetic: bool = True
    output_dtypes: Mapping[str, torch.dtype] = field(default_factory=dict)
    atomics: bool = False
    work: Callable[[Inputs], Work] | None = None
    solution: str = ""
    peer: Callable[..., Any] | None = None
    timing_case: Case | None = None
    time_limit: float = 20.0
    call: Callable[[Callable[..., Any], Inputs], Any] | None = None
    review: Callable[[Callable[..., Any]], str] | None = None
    explain: Callable[[list[Any], Callable[..., Any]], Any] | None = None
    says: Callable[[Case], str] | None = None
    real_sizes: Mapping[str, int] = field(default_factory=dict)
    quantities: Callable[[Inputs], Any] | None = None
    unsolved: Callable[[Callable[..., Any]], bool] | None = None
    weights: tuple[Callable[..., Any], Callable[[Inputs], Any]] | None = None

    @property
    def known(self) -> Mapping[str, Mistake]:
        """Every mistake by name: those of the catalogue, and the exercise's own."""
        return {**self.catalogue, **self.mistakes}

    def parameters(self) -> tuple[str, ...]:
        """Parameter names of the learner's function, read off `signature`."""
        inside = self.signature[self.signature.index("(") + 1 : self.signature.index(")")]
        return tuple(p.split(":")[0].split("=")[0].strip() for p in inside.split(",") if p.strip())
