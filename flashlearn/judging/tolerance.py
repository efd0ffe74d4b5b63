"""How close is close enough, decided by what plain torch achieves at the same precision.

A same-precision reference is the exercise's formula in plain torch, computed in the dtype of the inputs:
its error against the fp64 reference is what rounding alone costs (`References.twins`).

`allowed = 2·max of err(same-precision reference) + atol` (3× for gradients), where err is the largest
difference to the fp64 reference and `atol` a few rounding errors at the reference's magnitude, as in
FlashAttention's tests (Dao-AILab/flash-attention, tests/test_flash_attn.py). A maximum alone would accept
sums accumulated in half precision, so half-precision results are also held to 1.3× the rms error of the
same-precision references. An fp8 result is rounded once, and its neighbours are far apart: nothing is doubled
there, and an error may exceed the largest one by a quarter of the largest step at most. So every reference
sums in fp32 at least; a same-precision reference may round what kernels round (P before its product with V).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flashlearn.exercise import Exercise, Inputs
from flashlearn.judging.references import (
    FP8_DTYPES,
    HALF_DTYPES,
    References,
    Rounding,
    entries_of,
    exact,
    in_parts,
    largest_error,
    references,
    root_mean_square,
    widen,
)
from flashlearn.later import torch
from flashlearn.machine.process_settings import full_precision
from flashlearn.outcome import Misfit, OutputCheck
from flashlearn.running.evidence import Foreign

RMS_FACTOR = 1.3
MAX_KEPT_ELEMENTS = 1 << 22  # larger outputs are judged and then dropped
RMS_MIN_ELEMENTS = 256  # with fewer elements the ratio of rms errors is mostly chance


@dataclass(frozen=True)
class Roundings:
    """What the same-precision references of one draw have shown: their dtypes, and their errors by output."""

    dtypes: tuple[torch.dtype, ...]
    by_output: Mapping[int, Rounding]


class Truth:
    """The reference outputs of one draw, and the error of plain torch at the same precision.

    `expected` is in fp64, `dtypes` are those of the learner's outputs. With `tf32`, for kernels whose fp32
    products run in TF32 on a GPU, plain torch also computes its products that way. Where the exercise knows
    how large its references grow, large inputs are computed in parts. Where the same draw's `known` roundings
    are given, only `expected` is computed.
    """

    def __init__(
        self, exercise: Exercise, inputs: Inputs, tf32: bool = False, known: Roundings | None = None
    ):
        self.exercise = exercise
        self._allowed: dict[int, tuple[float, float]] = {}
        self._rounding: dict[int, Rounding] = dict(known.by_output) if known is not None else {}
        self._references: References | None = None
        parts = in_parts(exercise, inputs)
        with full_precision():
            if known is not None:
                self.expected, self.dtypes = exact(exercise, parts), known.dtypes
            elif len(parts) == 1:
                self._references = references(exercise, inputs, tf32)
                self.expected, self.dtypes = self._references.expected, self._references.dtypes
            else:
                entries = sum(entries_of(part) for part in parts)
                self._join((references(exercise, part, tf32) for part in parts), entries)

    def _join(self, parts: Iterator[References], entries: int) -> None:
        """The outputs of all parts as one; of their same-precision references only the errors are kept."""
        whole: list[torch.Tensor] = []
        start = 0
        for part in parts:
            self.dtypes = part.dtypes
            whole = whole or [out.new_empty((entries, *out.shape[1:])) for out in part.expected]
            for index, out in enumerate(part.expected):
                whole[index][start : start + out.shape[0]] = out
                found = part.rounding(index, self._rms_counts(index))
                before = self._rounding.get(index)
                self._rounding[index] = found if before is None else before.joined(found)
            start += part.expected[0].shape[0]
            del part, out  # before the next part is computed
        self.expected = tuple(whole)

    def _rms_counts(self, index: int) -> bool:
        dtype = str(self.dtypes[index])
        return dtype in FP8_DTYPES or (dtype in HALF_DTYPES and self.exercise.judged.accumulates)

    def allowed(self, index: int) -> tuple[float, float]:
        """Largest error and largest rms error that output `index` may have (inf: no rms bound)."""
        if index not in self._allowed:
            self._allowed[index] = self._measured(index)
        return self._allowed[index]

    def _measured(self, index: int) -> tuple[float, float]:
        dtype = self.dtypes[index]
        if not dtype.is_floating_point:
            return 0.0, float("inf")
        found, eps = self._rounding_of(index), torch.finfo(dtype).eps
        # where nothing but rounding errors is left, each order of summation has its own
        only_noise = max(found.noise, default=0.0) > found.magnitude
        has_rms = self._rms_counts(index) and found.count >= RMS_MIN_ELEMENTS and not only_noise
        if str(dtype) in FP8_DTYPES:  # rounded once, coarsely, where truncation would double the error
            rms = RMS_FACTOR * max(found.noise) if has_rms else float("inf")
            return max(found.errors) + eps / 4 * found.largest / 2, rms
        atol = max(2 * found.step, 2 * eps * found.largest)  # a few numbers may happen to round exactly
        rms = RMS_FACTOR * max(found.noise) + 0.05 * eps * found.magnitude if has_rms else float("inf")
        return tolerance_factor(self.exercise) * max(found.errors, default=0.0) + atol, rms

    def _rounding_of(self, index: int) -> Rounding:
        if index not in self._rounding:
            self._rounding[index] = self._references.rounding(index, self._rms_counts(index))
        return self._rounding[index]

    def roundings(self) -> Roundings:
        """What rounding costs, for another truth of the same draw."""
        floats = [index for index, dtype in enumerate(self.dtypes) if dtype.is_floating_point]
        return Roundings(self.dtypes, {index: self._rounding_of(index) for index in floats})

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


def tolerance_factor(exercise: Exercise) -> int:
    """The allowed error as a multiple of the same-precision references' largest error."""
    return 3 if exercise.judged.gradient else 2


def reference_counts(exercise: Exercise) -> tuple[int, int]:
    """The number of same-precision references: for fp32 inputs, and for half-precision inputs."""
    plain = 1 + len(exercise.judged.twins)
    return plain, plain + 1


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
    if type(value).__module__ == "torch.return_types":
        return f"the pair of values and indices that torch's {type(value).__name__} returns"
    name = value.type if isinstance(value, Foreign) else type(value).__name__
    return "None" if value is None else f"{'an' if name[:1] in 'aeio' else 'a'} {name}"


def short(dtype: torch.dtype) -> str:
    """float16 for torch.float16."""
    return str(dtype).removeprefix("torch.")


def _difference(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    return (got.double() - expected.double())[torch.isfinite(expected.double())]
