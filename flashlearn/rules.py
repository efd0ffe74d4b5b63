"""Rules for mistakes that no exercise foresaw. Each looks at one wrong output and says what it saw.

A rule is a function (OutputCheck, Outcome) → Finding or None; `RULES` lists them, surest first. A
finding stands only if the rule fires in every case that came out wrong.
"""

from __future__ import annotations

import math

import torch

from flashlearn.outcome import Finding, Outcome, OutputCheck

CONSTANTS = {
    "ln 2": math.log(2),
    "log2 e": 1 / math.log(2),
    "2": 2.0,
    "1/2": 0.5,
}


def shape(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """A wrong shape, dtype or type: nothing else can be said before it is right."""
    return Finding("shape", f"{check.problem}.") if check.problem else None


def never_written(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """Elements that no program stored, all others right."""
    if check.writers is None:
        return None
    unwritten = check.writers < 0
    if not unwritten.any() or (_bad(check) & ~unwritten).any():
        return None
    first = tuple(int(i) for i in unwritten.nonzero()[0])
    share = f"{int(unwritten.sum())} of {unwritten.numel()}"
    sentence = (
        f"No program writes {check.name}[{_index(first)}]: {share} elements keep what torch.empty held."
    )
    return Finding("never written", sentence, "Do the grid and the mask of the store cover the whole output?")


def not_finite(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """NaN or infinity where the truth is finite."""
    bad = ~torch.isfinite(check.got.double()) & torch.isfinite(check.expected.double())
    if not bad.any():
        return None
    first = tuple(int(i) for i in bad.nonzero()[0])
    value = float(check.got[first])
    sentence = (
        f"{check.name}[{_index(first)}] is {value} ({int(bad.sum())} of {bad.numel()} elements are not "
        f"finite), where {float(check.expected[first]):.3g} is right."
    )
    step = "Look for exp of a large number, ∞ − ∞ or 0/0 on the way there."
    return Finding("not finite", sentence, step)


def transposed(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """The right matrix, rows and columns exchanged."""
    if check.got.ndim < 2 or check.got.shape[-1] != check.got.shape[-2] or check.got.shape[-1] < 2:
        return None
    if _close(check.got.double().transpose(-1, -2), check):
        return Finding("transposed", f"{check.name} is the transpose of the right answer.")
    return None


def sign(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """The right numbers with the other sign."""
    if _close(-check.got.double(), check):
        return Finding("sign", f"{check.name} has the right size and the opposite sign.")
    return None


def constant_factor(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """The right answer times one number."""
    got, expected = check.got.double().flatten(), check.expected.double().flatten()
    if got.numel() < 3 or not bool(torch.isfinite(got).all()) or not bool(torch.isfinite(expected).all()):
        return None
    norm = float(expected @ expected)
    factor = float(got @ expected) / norm if norm else 0.0
    if math.isclose(abs(factor), 1.0, rel_tol=1e-3):
        return None  # −1 is the sign rule's, and 1 would say nothing
    if not 1e-6 < abs(factor) < 1e6 or not _close(check.got.double() / factor, check):
        return None
    known = next((n for n, v in CONSTANTS.items() if math.isclose(v, factor, rel_tol=1e-3)), f"{factor:.4g}")
    return Finding("constant factor", f"{check.name} is {known} times the right answer, everywhere.")


def ragged_tail(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """Wrong only in the last, incomplete block of rows or columns."""
    bad = _bad(check)
    if not bad.any():
        return None
    for axis in range(bad.ndim):
        length = bad.shape[axis]
        others = [d for d in range(bad.ndim) if d != axis]
        along = bad.any(dim=others) if others else bad
        first = int(along.nonzero()[0])
        if first == 0 or not bool(along[first:].all()) or length - first > length // 2:
            continue
        if first & (first - 1) and first % 16:
            continue  # not where a block can begin
        where = (
            f"from index {first} of dimension {axis} to the end" if bad.ndim > 1 else f"from index {first} on"
        )
        sentence = f"{check.name} is right except {where}: the last block, which is not full."
        return Finding("ragged tail", sentence, "Look at the masks, and at `other=` for the lanes they hide.")
    return None


def some_rows(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """Whole rows wrong and whole rows right."""
    bad = _bad(check)
    if bad.ndim != 2 or bad.shape[0] < 2:
        return None
    rows = bad.any(dim=1)
    if rows.all() or any(rule(check, outcome) for rule in (not_finite, ragged_tail, precision)):
        return None
    first = int(rows.nonzero()[0])
    sentence = f"{int(rows.sum())} of {len(rows)} rows of {check.name} are wrong, the first is row {first}."
    return Finding("some rows", sentence, "What do these rows have that the others do not?")


def precision(check: OutputCheck, outcome: Outcome) -> Finding | None:
    """Close everywhere, but not as close as sums carried in fp32."""
    if not check.got.dtype.is_floating_point:
        return None
    scale = float(check.expected.double().abs().max())
    if check.error > 64 * torch.finfo(check.got.dtype).eps * max(scale, 1e-30):
        return None
    how = f"off by {check.error:.2g} where {check.allowed:.2g} is allowed"
    if check.error <= check.allowed:
        how = f"its rms error is {check.rms_ratio:.2f} times what a sum carried in fp32 may have"
    sentence = f"{check.name} is close but too coarse: {how}, as if a sum were carried in half precision."
    return Finding("precision", sentence, "Convert to tl.float32 after loading, and back only when storing.")


RULES = (
    shape,
    never_written,
    not_finite,
    sign,
    transposed,
    constant_factor,
    ragged_tail,
    precision,
    some_rows,
)


def _bad(check: OutputCheck) -> torch.Tensor:
    got, expected = check.got.double(), check.expected.double()
    equal = (got == expected) | (torch.isnan(got) & torch.isnan(expected))
    return ~(equal | ((got - expected).abs() <= check.allowed))


def _close(values: torch.Tensor, check: OutputCheck) -> bool:
    expected = check.expected.double()
    if values.shape != expected.shape or not bool((expected != 0).any()):
        return False
    return bool(((values - expected).abs() <= 2 * check.allowed).all())


def _index(index: tuple[int, ...]) -> str:
    return ", ".join(str(i) for i in index)
