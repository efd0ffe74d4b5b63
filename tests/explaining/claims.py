"""The claims of rules, recomputed from the tensors of a case by code that shares nothing with the rules.

`CHECKS` has a function for each kind of finding. It is given the kind, which holds its facts, and the clues
of the output that it is about, and says whether the sentence is true.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from flashlearn.explaining.findings import kept_part, misplaced_stores, zero_sign_constants
from flashlearn.explaining.findings.finite_infinity import FiniteInfinity
from flashlearn.explaining.findings.not_finite import NotFinite
from flashlearn.explaining.findings.permuted_heads import PermutedHeads
from flashlearn.explaining.findings.ragged_tail import RaggedTail
from flashlearn.explaining.findings.row_factor import RowFactor
from flashlearn.explaining.findings.rule import Clue
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.some_heads import SomeHeads
from flashlearn.explaining.findings.some_programs import SomePrograms
from flashlearn.explaining.findings.some_rows import SomeRows
from flashlearn.explaining.findings.vanishing import Vanishing

Clues = Sequence[Clue]
CHECKS: dict[type, Callable[[Any, Clues], bool]] = {}


def _claim(kind: type) -> Callable:
    def keep(check: Callable) -> Callable:
        CHECKS[kind] = check
        return check

    return keep


def _arrays(clue: Clue) -> tuple[np.ndarray, np.ndarray, float]:
    """The learner's numbers, the right ones, and how far an explanation may miss."""
    check = clue.check
    return (
        check.got.to(torch.float64).numpy(),
        check.expected.to(torch.float64).numpy(),
        2.0 * check.allowed + 1e-12,
    )


def _of_case(kind: Any, clues: Clues) -> Clue:
    return next(clue for clue in clues if clue.outcome.case.name == kind.case)


def _alike(one: np.ndarray, other: np.ndarray, slack: float) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.all((one == other) | (np.abs(one - other) <= slack)))


def _wrong(clue: Clue) -> np.ndarray:
    """Where the output is wrong, element by element."""
    got, expected, _ = _arrays(clue)
    with np.errstate(invalid="ignore"):
        right = (got == expected) | (np.abs(got - expected) <= clue.check.allowed)
    return ~(right | (np.isnan(got) & np.isnan(expected)))


@_claim(zero_sign_constants.Zero)
def _zero(kind, clues: Clues) -> bool:
    return all(not got.any() for got, expected, _ in map(_arrays, clues) if expected.any())


@_claim(Vanishing)
def _vanishing(kind, clues: Clues) -> bool:
    got, expected, _ = _arrays(_of_case(kind, clues))
    return bool(
        np.isclose(np.abs(got).max(), kind.largest) and np.isclose(np.abs(expected).max(), kind.right)
    )


def _telling(clues: Clues) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Cases whose error is more than rounding may make it."""
    return [_arrays(clue) for clue in clues if not clue.check.error <= 4 * clue.check.allowed]


@_claim(zero_sign_constants.Sign)
def _sign(kind, clues: Clues) -> bool:
    return all(_alike(-got, expected, slack) for got, expected, slack in _telling(clues))


@_claim(FiniteInfinity)
def _finite_infinity(kind, clues: Clues) -> bool:
    return all(
        bool(np.all(got[_wrong(clue)] == kind.value) and np.all(expected[_wrong(clue)] == -np.inf))
        for clue in clues
        for got, expected, _ in [_arrays(clue)]
    )


def _number(symbol: str, clue: Clue) -> float:
    """The value of a symbol such as 1/alpha, √D, H² or "ln 2 = 0.693" in a case."""
    if " = " in symbol:
        return float(symbol.rsplit(" = ", 1)[1])
    if symbol.startswith("−"):
        return -_number(symbol[1:], clue)
    if symbol.startswith("1/"):
        return 1 / _number(symbol[2:], clue)
    if symbol.startswith("√"):
        return _number(symbol[1:], clue) ** 0.5
    if symbol.endswith("²"):
        return _number(symbol[:-1], clue) ** 2
    if symbol == "ln 2":
        return math.log(2)
    if symbol in clue.outcome.case.sizes:
        return float(clue.outcome.case.sizes[symbol])
    return float(clue.inputs[symbol]) if symbol in clue.inputs else float(symbol)


def _value(kind, clue: Clue) -> float | None:
    """What a finding says the number is in this case; None where it says that it changes."""
    meaning = kind.meaning
    if meaning is None:
        return None if kind.span else getattr(kind, "factor", getattr(kind, "constant", None))
    if meaning.axis is not None:
        number = float(max(launch.grid[meaning.axis] for launch in clue.outcome.launches))
    else:
        number = _number(meaning.symbol, clue)
    return {0: number, 1: math.log(max(number, 1e-30)), -1: -math.log(max(number, 1e-30))}[meaning.log]


@_claim(zero_sign_constants.ConstantFactor)
def _factor(kind, clues: Clues) -> bool:
    for clue in clues:
        got, expected, slack = _arrays(clue)
        there = np.isfinite(expected) & (expected != 0)
        if there.sum() < 3 or clue.check.error <= 4 * clue.check.allowed:
            continue
        number = _value(kind, clue)
        if number is None:
            weights = np.abs(expected[there])
            number = float(np.average(got[there] / expected[there], weights=weights**2))
            if not kind.span[0] * (1 - 1e-3) <= number <= kind.span[1] * (1 + 1e-3):
                return False
        largest = float(np.abs(got[np.isfinite(got)]).max())
        if not _alike(got[there], number * expected[there], 4e-3 * largest + abs(number) * slack):
            return False
    return True


@_claim(zero_sign_constants.AddedConstant)
def _summand(kind, clues: Clues) -> bool:
    for clue in clues:
        got, expected, slack = _arrays(clue)
        gap = (got - expected)[np.isfinite(expected)]
        if gap.size < 3 or clue.check.error <= 4 * clue.check.allowed:
            continue
        number = _value(kind, clue)
        low, high = kind.span if number is None else (number, number)
        room = slack + 4e-3 * max(abs(low), abs(high))
        if not (low - room <= gap.min() and gap.max() <= high + room and np.ptp(gap) <= 2 * slack):
            return False
    return True


@_claim(PermutedHeads)
def _heads_permuted(kind, clues: Clues) -> bool:
    clue = _of_case(kind, clues)
    got, expected, slack = _arrays(clue)
    batches, heads = (clue.outcome.case.sizes[name] for name in ("B", "H"))
    if got.shape[:2] != (batches, heads) or len(kind.owners) != batches * heads:
        return False
    return all(
        _alike(got[i // heads, i % heads], expected[owner // heads, owner % heads], slack)
        for i, owner in enumerate(kind.owners)
    )


@_claim(SomeHeads)
def _heads_wrong(kind, clues: Clues) -> bool:
    clue = _of_case(kind, clues)
    wrong = _wrong(clue)
    heads = [wrong[b, h].any() for b, h in itertools.product(*map(range, wrong.shape[:2]))]
    sizes = clue.outcome.case.sizes
    counted = sizes["B"] * sizes.get("H", 0), sizes["B"] * sizes.get("H_k", 0)
    return len(heads) in counted and kind.wrong == tuple(i for i, bad in enumerate(heads) if bad)


@_claim(SomePrograms)
def _programs(kind, clues: Clues) -> bool:
    clue = _of_case(kind, clues)
    owners, wrong = clue.check.writers.numpy().reshape(-1), _wrong(clue).reshape(-1)
    return set(owners[wrong].tolist()) == set(kind.wrong) and len({*owners.tolist()} - {-1}) == kind.programs


@_claim(SomeRows)
def _rows(kind, clues: Clues) -> bool:
    wrong = _wrong(_of_case(kind, clues))
    rows = [index for index in np.ndindex(wrong.shape[:-1]) if wrong[index].any()]
    return len(rows) == kind.count and kind.total == wrong[..., 0].size and rows[0] == kind.first


@_claim(RaggedTail)
def _tail(kind, clues: Clues) -> bool:
    wrong = np.moveaxis(_wrong(_of_case(kind, clues)), kind.axis or 0, 0)
    return not wrong[: kind.first].any() and all(line.any() for line in wrong[kind.first :])


@_claim(RowFactor)
def _row_factors(kind, clues: Clues) -> bool:
    got, expected, slack = _arrays(_of_case(kind, clues))
    rows = [i for i in np.ndindex(expected.shape[:-1]) if expected[i].any()]
    factors = [got[i] @ expected[i] / (expected[i] @ expected[i]) for i in rows]
    room = slack * max(1.0, *map(abs, factors))
    proportional = all(_alike(got[i], f * expected[i], room) for i, f in zip(rows, factors, strict=True))
    sums = [got[i].sum() for i in rows]
    span = kind.sums is None or np.allclose(kind.sums, (min(sums), max(sums)), rtol=1e-3)
    return proportional and span and np.allclose(kind.factors, (min(factors), max(factors)), rtol=1e-3)


@_claim(NotFinite)
def _not_finite(kind, clues: Clues) -> bool:
    got, expected, _ = _arrays(_of_case(kind, clues))
    bad = ~np.isfinite(got) & np.isfinite(expected)
    shown = kind.first
    same = np.array_equal(got[shown], kind.got, equal_nan=True) and expected[shown] == kind.expected
    comparable = bool(bad[shown]) and abs(expected[shown]) >= 0.1 * np.abs(expected[bad]).max()
    return (int(bad.sum()), bad.size) == (kind.count, kind.total) and same and comparable


@_claim(misplaced_stores.NeverWritten)
def _unwritten(kind, clues: Clues) -> bool:
    clue = _of_case(kind, clues)
    unwritten = clue.check.writers.numpy().reshape(clue.check.got.shape) < 0
    first = tuple(int(i) for i in np.argwhere(unwritten)[0])
    facts = int(unwritten.sum()), unwritten.size, first
    return facts == (kind.count, kind.total, kind.first) and not (_wrong(clue) & ~unwritten).any()


@_claim(misplaced_stores.WrittenTwice)
def _several_times(kind, clues: Clues) -> bool:
    clue = _of_case(kind, clues)
    got, expected, slack = _arrays(clue)
    wrong = _wrong(clue)
    times = _alike(got[wrong], kind.times * expected[wrong], kind.times * slack)
    return times and int(wrong.sum()) == kind.count and wrong.size == kind.total


@_claim(misplaced_stores.OutputsExchanged)
def _exchanged(kind, clues: Clues) -> bool:
    for clue in clues:
        other = next(check for check in clue.outcome.outputs if check.name == kind.other)
        got, _, slack = _arrays(clue)
        if not other.ok and not _alike(got, other.expected.double().numpy(), slack):
            return False
    return True


@_claim(misplaced_stores.Transposed)
def _transposed(kind, clues: Clues) -> bool:
    matrices = [arrays for arrays in _telling(clues) if min(arrays[0].shape[-2:]) > 1]
    return all(_alike(got.swapaxes(-1, -2), expected, slack) for got, expected, slack in matrices)


@_claim(misplaced_stores.StoredWithOtherStrides)
def _other_strides(kind, clues: Clues) -> bool:
    for clue in clues:
        given = clue.inputs[kind.tensor]
        reach = sum((n - 1) * s for n, s in zip(given.shape, given.stride(), strict=True))
        if given.shape != clue.check.got.shape or given.is_contiguous() or reach >= given.numel():
            continue
        flat = clue.check.got.double().reshape(-1)
        if not _alike(flat.as_strided(given.shape, given.stride()).numpy(), *_arrays(clue)[1:]):
            return False
    return True


@_claim(misplaced_stores.StoredRowByRow)
def _row_by_row(kind, clues: Clues) -> bool:
    for clue in clues:
        got, given = clue.check.got, clue.inputs[kind.tensor]
        if got.stride() != kind.strides or (given.shape, given.stride()) != (got.shape, got.stride()):
            return False
        memory = got.double().as_strided((got.numel(),), (1,)).reshape(got.shape)
        if not _alike(memory.numpy(), *_arrays(clue)[1:]):
            return False
    return True


@_claim(misplaced_stores.Shifted)
def _shifted(kind, clues: Clues) -> bool:
    for got, expected, slack in _telling(clues):
        axis = -2 if kind.what == "row" else -1
        got, expected = np.moveaxis(got, axis, 0), np.moveaxis(expected, axis, 0)
        pairs = [(i, i - kind.by) for i in range(len(got)) if 0 <= i - kind.by < len(got)]
        if not all(_alike(got[i], expected[j], slack) for i, j in pairs):
            return False
    return True


@_claim(misplaced_stores.ReversedOrder)
def _reversed(kind, clues: Clues) -> bool:
    axis = -2 if kind.what == "row" else -1
    sized = [arrays for arrays in _telling(clues) if arrays[0].shape[axis] > 1]
    return all(_alike(np.flip(got, axis), expected, slack) for got, expected, slack in sized)


@_claim(Shape)
def _misfit(kind, clues: Clues) -> bool:
    misfit = kind.misfit
    for clue in clues:
        got, expected = clue.check.got, clue.check.expected
        if clue.outcome.case.name == kind.case and misfit.what == "shape":
            return (tuple(got.shape), tuple(expected.shape)) == (misfit.got, misfit.expected)
        if clue.outcome.case.name == kind.case and misfit.what == "dtype":
            return str(got.dtype).endswith(str(misfit.got).removeprefix("torch."))
    return True


@_claim(kept_part.KeptPart)
def _kept(kind, clues: Clues) -> bool:
    """The reference's own answer with that slice set to zero."""
    clue = _of_case(kind, clues)
    got, _, slack = _arrays(clue)
    name, slices = kind.left_out.split("[", 1)
    inputs = {
        k: v.double() if torch.is_tensor(v) and v.is_floating_point() else v for k, v in clue.inputs.items()
    }
    inputs[name] = inputs[name].clone()
    exec(f"x[{slices} = 0", {"x": inputs[name]})
    answers = clue.exercise.reference(**inputs)
    answers = answers if isinstance(answers, tuple) else (answers,)
    right = answers[clue.exercise.outputs.index(clue.name)].double().numpy()
    rounding = 4 * torch.finfo(clue.check.got.dtype).eps * np.abs(right[np.isfinite(right)]).max(initial=0.0)
    return _alike(got, right, max(slack, rounding))
