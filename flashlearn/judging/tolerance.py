"""How close is close enough, decided by what plain torch achieves at the same precision.

A same-precision reference is the exercise's formula in plain torch, computed in the dtype of the inputs:
its error against the fp64 reference is what rounding alone costs (`Truth.twins`).

`allowed = 2·max of err(same-precision reference) + atol` (3× for gradients), where err is the largest
difference to the fp64 reference and `atol` a few rounding errors at the reference's magnitude, as in
FlashAttention's tests (Dao-AILab/flash-attention, tests/test_flash_attn.py). A maximum alone would accept
sums accumulated in half precision, so half-precision results are also held to 1.3× the rms error of the
same-precision references. An fp8 result is rounded once, and its neighbours are far apart: nothing is doubled
there, and an error may exceed the largest one by a quarter of the largest step at most. So every reference
sums in fp32 at least; a same-precision reference may round what kernels round (P before its product with V).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.judging.tf32 import Tf32Products
from flashlearn.machine.process_settings import full_precision
from flashlearn.outcome import Misfit, OutputCheck
from flashlearn.running.evidence import Foreign
from flashlearn.running.values import as_tuple

HALF_DTYPES = (torch.float16, torch.bfloat16)
FP8_DTYPES = (torch.float8_e4m3fn, torch.float8_e5m2)
RMS_FACTOR = 1.3
MAX_KEPT_ELEMENTS = 1 << 22  # larger outputs are judged and then dropped
RMS_MIN_ELEMENTS = 256  # with fewer elements the ratio of rms errors is mostly chance


class Truth:
    """The reference outputs of one draw, and the error of plain torch at the same precision.

    `expected` is in fp64, `dtypes` are those of the learner's outputs, `twins` the same-precision references.
    With `tf32`, for kernels whose fp32 products run in TF32 on a GPU, plain torch also computes its products
    that way.
    """

    def __init__(self, exercise: Exercise, inputs: Inputs, tf32: bool = False):
        self.exercise = exercise
        self._allowed: dict[int, tuple[float, float]] = {}
        with full_precision():
            self.expected = as_tuple(exercise.reference(**convert(inputs, torch.float64)))
            native = as_tuple(exercise.reference(**clone(inputs)))
            self.dtypes = output_dtypes(exercise, native)
            self.twins = list(_same_precision_references(exercise, inputs, native))
            if tf32:
                with Tf32Products():
                    products = as_tuple(exercise.reference(**clone(inputs)))
                    self.twins += list(_same_precision_references(exercise, inputs, products))

    def allowed(self, index: int) -> tuple[float, float]:
        """Largest error and largest rms error that output `index` may have (inf: no rms bound)."""
        if index not in self._allowed:
            self._allowed[index] = self._measured(index)
        return self._allowed[index]

    def _measured(self, index: int) -> tuple[float, float]:
        expected, dtype = self.expected[index], self.dtypes[index]
        if not dtype.is_floating_point:
            return 0.0, float("inf")
        finite = torch.isfinite(expected)
        reference = expected[finite]
        if dtype in FP8_DTYPES:
            return self._measured_in_eight_bits(index, finite)
        rounded = reference.to(dtype)
        atol = 2 * largest((rounded + 0.3 - 0.3 - rounded).double())
        atol = max(
            atol, 2 * torch.finfo(dtype).eps * largest(reference)
        )  # a few numbers may happen to round exactly
        errors = [largest_error(twin[index].to(dtype), expected) for twin in self.twins]
        rms = float("inf")
        if (
            dtype in HALF_DTYPES
            and self.exercise.judged.accumulates
            and reference.numel() >= RMS_MIN_ELEMENTS
        ):
            slack = 0.05 * torch.finfo(dtype).eps * root_mean_square(reference)
            noise = [root_mean_square((t[index].to(dtype).double() - expected)[finite]) for t in self.twins]
            rms = RMS_FACTOR * max(noise) + slack
        return tolerance_factor(self.exercise) * max(errors, default=0.0) + atol, rms

    def _measured_in_eight_bits(self, index: int, finite: torch.Tensor) -> tuple[float, float]:
        """The bounds for values rounded once to a coarse format, where truncation would double the error."""
        expected, dtype = self.expected[index], self.dtypes[index]
        twins = [twin[index].to(dtype).double() for twin in self.twins]
        quarter = torch.finfo(dtype).eps / 4 * largest(expected[finite]) / 2
        rms = float("inf")
        if int(finite.sum()) >= RMS_MIN_ELEMENTS:
            rms = RMS_FACTOR * max(root_mean_square((twin - expected)[finite]) for twin in twins)
        return max(largest_error(twin, expected) for twin in twins) + quarter, rms

    def judge(self, index: int, got: Any, **extra: Any) -> OutputCheck:
        """Compare one output of the learner's with the truth."""
        name, expected, dtype = self.exercise.outputs[index], self.expected[index], self.dtypes[index]
        misfit = _misfit(got, expected, dtype)
        if misfit is not None:
            problem = f"{name} {misfit_clause(misfit)}"
            like = (name, misfit.what, _without_sizes(misfit.got), _without_sizes(misfit.expected))
            return OutputCheck(
                name, False, problem=problem, got=got, expected=expected, misfit=misfit, like=like
            )
        got = widen(got.to(expected.device))
        allowed, rms_allowed = self.allowed(index)
        error = largest_error(got, expected)
        rms = root_mean_square(_difference(got, expected))
        ratio = rms / rms_allowed if rms_allowed not in (0.0, float("inf")) else float("nan")
        ok = error <= allowed and not rms > rms_allowed
        if got.numel() > MAX_KEPT_ELEMENTS:
            return OutputCheck(name, ok, error, allowed, ratio, **extra)
        return OutputCheck(name, ok, error, allowed, ratio, got=got.cpu(), expected=expected.cpu(), **extra)


def agrees(check: OutputCheck, got: Any) -> bool:
    """Whether another value of an output would have been right in the case of an earlier check."""
    if not isinstance(got, torch.Tensor) or got.shape != check.expected.shape:
        return False
    got = widen(got)
    if got.dtype != check.got.dtype:
        return False
    if not largest_error(got, check.expected) <= check.allowed:
        return False
    if not check.rms_ratio > 1:  # without a bound on the rms error it is NaN
        return True
    before = root_mean_square(_difference(check.got, check.expected))
    return root_mean_square(_difference(got, check.expected)) * check.rms_ratio <= before


def widen(t: torch.Tensor) -> torch.Tensor:
    """fp8 as fp32, since torch has few operations for fp8; every other dtype unchanged."""
    return t.float() if t.dtype in FP8_DTYPES else t


def tolerance_factor(exercise: Exercise) -> int:
    """The allowed error as a multiple of the same-precision references' largest error."""
    return 3 if exercise.judged.gradient else 2


def reference_counts(exercise: Exercise) -> tuple[int, int]:
    """The number of same-precision references: for fp32 inputs, and for half-precision inputs."""
    plain = 1 + len(exercise.judged.twins)
    return plain, plain + 1


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
    if any(t.dtype in HALF_DTYPES for t in inputs.values() if isinstance(t, torch.Tensor)):
        yield as_tuple(exercise.reference(**convert(inputs, torch.float32)))


def _misfit(got: Any, expected: torch.Tensor, dtype: torch.dtype) -> Misfit | None:
    if isinstance(got, Foreign) and got.module == "torch":  # sparse, nested, or on another device
        return Misfit("layout", got.text, tuple(expected.shape))
    if not isinstance(got, torch.Tensor):
        return Misfit("nothing" if got is None else "type", describe(got), tuple(expected.shape))
    if got.shape != expected.shape:
        return Misfit("shape", tuple(got.shape), tuple(expected.shape))
    return Misfit("dtype", short(got.dtype), short(dtype)) if got.dtype != dtype else None


def _without_sizes(found: str | tuple[int, ...]) -> str | int:
    """A dtype or a word unchanged; for a shape, its number of dimensions."""
    return found if isinstance(found, str) else len(found)


def misfit_clause(misfit: Misfit) -> str:
    """What is wrong with an output: the predicate of a sentence whose subject is the output's name."""
    got, expected = misfit.got, misfit.expected
    return {
        "nothing": f"is {got}, expected a tensor of shape {expected}",
        "type": f"is {got}, expected a tensor of shape {expected}",
        "layout": f"is {got}, expected an ordinary tensor of shape {expected}",
        "shape": f"has shape {got}, expected {expected}",
        "dtype": f"has dtype {got}, expected {expected}",
    }[misfit.what]


def describe(value: Any) -> str:
    """A description of a value that should have been a tensor."""
    if isinstance(value, Foreign):
        return f"a {value.type}"
    return "None" if value is None else f"a {type(value).__name__}"


def short(dtype: torch.dtype) -> str:
    """float16 for torch.float16."""
    return str(dtype).removeprefix("torch.")


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


def largest(values: torch.Tensor) -> float:
    """Largest absolute value; 0 of nothing."""
    return float(values.abs().max()) if values.numel() else 0.0


def root_mean_square(values: torch.Tensor) -> float:
    """Root mean square; 0 of nothing."""
    return float(values.double().square().mean().sqrt()) if values.numel() else 0.0


def _difference(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    return (got.double() - expected.double())[torch.isfinite(expected.double())]


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
