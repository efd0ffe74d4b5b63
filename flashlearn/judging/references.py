"""The references of one draw: exact outputs, what plain torch gives at the same precision, and its errors.

    >>> found = references(exercise, inputs)
    >>> found.rounding(0).errors                    # of each same-precision reference, at most
    (0.00041, 0.00039)

References hold whole matrices where kernels hold tiles. `in_parts` cuts large inputs along their first
dimension, where an exercise says that the entries along it do not affect each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flashlearn.exercise import Exercise, Inputs
from flashlearn.later import torch
from flashlearn.machine.memory import spans
from flashlearn.running.values import as_tuple

HALF_DTYPES = ("torch.float16", "torch.bfloat16")
FP8_DTYPES = ("torch.float8_e4m3fn", "torch.float8_e5m2")


@dataclass(frozen=True)
class Rounding:
    """What rounding costs plain torch in one output, over its finite elements.

    `step` is the largest rounding error of one addition, `largest` and `squares` are of the reference, and
    `errors` and `error_squares` of each same-precision reference: the largest, and the sum of the squares.
    """

    count: int
    step: float
    largest: float
    squares: float
    errors: tuple[float, ...]
    error_squares: tuple[float, ...]

    @property
    def magnitude(self) -> float:
        """The reference's root mean square."""
        return _root(self.squares, self.count)

    @property
    def noise(self) -> tuple[float, ...]:
        """The rms error of each same-precision reference."""
        return tuple(_root(squares, self.count) for squares in self.error_squares)

    def joined(self, other: Rounding) -> Rounding:
        """The same of two parts together."""
        each = zip(self.error_squares, other.error_squares, strict=True)
        return Rounding(
            self.count + other.count,
            max(self.step, other.step),
            max(self.largest, other.largest),
            self.squares + other.squares,
            tuple(map(max, self.errors, other.errors)),
            tuple(one + another for one, another in each),
        )


@dataclass(frozen=True)
class References:
    """`expected` is in fp64, `dtypes` are those of the learner's outputs, `twins` have the same precision."""

    expected: tuple[torch.Tensor, ...]
    dtypes: tuple[torch.dtype, ...]
    twins: tuple[tuple[torch.Tensor, ...], ...]

    def rounding(self, index: int, with_squares: bool = True) -> Rounding:
        """The errors of the same-precision references in one output; `with_squares` those of the mean too."""
        expected, dtype = self.expected[index], self.dtypes[index]
        finite = torch.isfinite(expected)
        reference = expected[finite]
        step = 0.0
        if dtype.is_floating_point and str(dtype) not in FP8_DTYPES:
            rounded = reference.to(dtype)
            step = largest((rounded + 0.3 - 0.3 - rounded).double())
        twins = [twin[index].to(dtype) for twin in self.twins]
        apart = [_squares((t.double() - expected)[finite]) if with_squares else 0.0 for t in twins]
        return Rounding(
            count=reference.numel(),
            step=step,
            largest=largest(reference),
            squares=_squares(reference) if with_squares else 0.0,
            errors=tuple(largest_error(twin, expected) for twin in twins),
            error_squares=tuple(apart),
        )


def entries_of(inputs: Inputs) -> int:
    """How many entries the inputs have along the first dimension of their first tensor."""
    return next(value.shape[0] for value in inputs.values() if isinstance(value, torch.Tensor))


def in_parts(exercise: Exercise, inputs: Inputs) -> list[Inputs]:
    """The inputs cut along their first dimension, where the references of all of them grow too large.

    A vector, such as a number for each head, goes to every part.
    """
    if exercise.judged.grows is None:
        return [inputs]

    def part(value: Any, cut: slice) -> Any:
        return value[cut] if isinstance(value, torch.Tensor) and value.ndim > 1 else value

    return [
        {name: part(value, cut) for name, value in inputs.items()}
        for cut in spans(entries_of(inputs), exercise.judged.grows(inputs))
    ]


def references(exercise: Exercise, inputs: Inputs, tf32: bool = False) -> References:
    """All references of these inputs; with `tf32` also those whose fp32 products are in TF32."""
    expected = as_tuple(exercise.reference(**convert(inputs, torch.float64)))
    native = as_tuple(exercise.reference(**clone(inputs)))
    twins = list(_same_precision_references(exercise, inputs, native))
    if tf32:
        from flashlearn.judging.tf32 import Tf32Products  # a subclass of torch's, which only tensors need

        with Tf32Products():
            products = as_tuple(exercise.reference(**clone(inputs)))
            twins += list(_same_precision_references(exercise, inputs, products))
    return References(expected, output_dtypes(exercise, native), tuple(twins))


def exact(exercise: Exercise, parts: list[Inputs]) -> tuple[torch.Tensor, ...]:
    """The outputs in fp64 alone, of inputs that were cut in parts."""
    found = [as_tuple(exercise.reference(**convert(part, torch.float64))) for part in parts]
    return found[0] if len(found) == 1 else tuple(torch.cat(outputs) for outputs in zip(*found, strict=True))


def output_dtypes(exercise: Exercise, native: tuple[Any, ...]) -> tuple[torch.dtype, ...]:
    """The dtype of each output: as declared, else that of what the reference returns, `native`."""
    return tuple(
        exercise.judged.output_dtypes.get(name, out.dtype)
        for name, out in zip(exercise.outputs, native, strict=True)
    )


def _same_precision_references(exercise: Exercise, inputs: Inputs, native: tuple) -> Iterator[tuple]:
    yield native
    for twin in exercise.judged.twins:
        yield as_tuple(twin(**clone(inputs)))
    if any(str(t.dtype) in HALF_DTYPES for t in inputs.values() if isinstance(t, torch.Tensor)):
        yield as_tuple(exercise.reference(**convert(inputs, torch.float32)))


def convert(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    """The inputs with every floating-point tensor at `dtype`; integers and scalars as they are."""
    return {
        name: value.detach().to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
        for name, value in inputs.items()
    }  # fmt: skip


def clone(inputs: Inputs) -> Inputs:
    """Copies that keep their strides."""
    return {
        name: value.detach().clone() if isinstance(value, torch.Tensor) else value
        for name, value in inputs.items()
    }


def widen(t: torch.Tensor) -> torch.Tensor:
    """fp8 as fp32, since torch has few operations for fp8; every other dtype unchanged."""
    return t.float() if str(t.dtype) in FP8_DTYPES else t


def largest(values: torch.Tensor) -> float:
    """Largest absolute value; 0 of nothing."""
    return float(values.abs().max()) if values.numel() else 0.0


def root_mean_square(values: torch.Tensor) -> float:
    """Root mean square; 0 of nothing."""
    return float(values.double().square().mean().sqrt()) if values.numel() else 0.0


def largest_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """max |got − expected|; infinite if a non-finite entry is not where the reference has it."""
    got, expected = got.double(), expected.double()
    error = largest(got - expected)
    if math.isfinite(error):
        return error  # then every entry of both is finite
    finite = torch.isfinite(expected)
    special = ~finite
    same = (got[special] == expected[special]) | (torch.isnan(got[special]) & torch.isnan(expected[special]))
    if not bool(same.all()) or not bool(torch.isfinite(got[finite]).all()):
        return float("inf")
    return largest(got[finite] - expected[finite])


def _squares(values: torch.Tensor) -> float:
    return float(values.double().square().sum()) if values.numel() else 0.0


def _root(squares: float, count: int) -> float:
    return math.sqrt(squares / count) if count else 0.0
