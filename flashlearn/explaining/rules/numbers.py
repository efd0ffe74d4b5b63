"""Rules about the numbers: the right ones in another order, of another size, or too coarse."""

from __future__ import annotations

import math

import torch

from flashlearn.explaining.rules.clue import SILENT, Clue, Seen, near, rule
from flashlearn.explaining.rules.factors import meaning_of_factor, meaning_of_summand

SHIFTS = (1, -1, 16, -16, 32, -32, 64, -64, 128, -128)


@rule("shape", form=True)
def shape(clue: Clue) -> Seen:
    """A wrong shape, dtype or type: nothing else can be said before it is right."""
    misfit = clue.check.misfit
    if misfit is None:
        return None
    case, outputs = clue.outcome.case.name, clue.exercise.outputs
    shapes = [tuple(c.expected.shape) for c in clue.outcome.outputs if isinstance(c.expected, torch.Tensor)]
    another = misfit.got in shapes and len(outputs) > 1
    judged = clue.exercise.judged
    seen = {"output": clue.name, "misfit": misfit, "case": case, "outputs": outputs, "another": another}
    return {**seen, "by_autograd": judged.gradient and judged.call is not None}


@rule("outputs exchanged")
def exchanged(clue: Clue) -> Seen:
    """Another output's right numbers."""
    for other in clue.outcome.outputs:
        if other.name == clue.name or other.ok or not isinstance(other.expected, torch.Tensor):
            continue
        if clue.close(clue.got, other.expected.double()):
            return {"output": clue.name, "other": other.name, "outputs": clue.exercise.outputs}
    return None


@rule("zero everywhere")
def zero(clue: Clue) -> Seen:
    """Nothing but zeros, where the right numbers are others."""
    if clue.exercise.explained.explain is not None:
        return None  # what a 0 means, it says itself
    if not bool(clue.expected.any()):
        return SILENT
    return {"output": clue.name} if not bool(clue.got.any()) else None


@rule("sign")
def sign(clue: Clue) -> Seen:
    """The right numbers with the other sign."""
    return {"output": clue.name} if clue.close(-clue.got) else None


@rule("transposed")
def transposed(clue: Clue) -> Seen:
    """The right matrix, rows and columns exchanged."""
    got = clue.got
    if got.ndim < 2 or got.shape[-1] < 2 or got.shape[-2] < 2:
        return SILENT
    if got.shape[-1] != got.shape[-2]:
        return None
    return {"output": clue.name} if clue.close(got.transpose(-1, -2)) else None


@rule("constant factor", agree=meaning_of_factor)
def constant_factor(clue: Clue) -> Seen:
    """The right answer times one number; what the number means is asked when all cases have spoken."""
    got, expected = clue.got.flatten(), clue.expected.flatten()
    finite = torch.isfinite(expected)
    if bool((got[~finite] != expected[~finite]).any()):
        return None
    got, expected = got[finite], expected[finite]
    if not bool(torch.isfinite(got).all()):
        return None
    norm = float(expected @ expected)
    if got.numel() < 3 or norm == 0:
        return SILENT
    factor = float(got @ expected) / norm
    if math.isclose(abs(factor), 1.0, rel_tol=1e-3):
        return None  # −1 is the sign rule's, and 1 would say nothing
    if not 1e-6 < abs(factor) < 1e6 or not clue.close(clue.got / factor):
        return None
    return {"output": clue.name, "factor": factor}


@rule("added constant", agree=meaning_of_summand)
def added_constant(clue: Clue) -> Seen:
    """The right answer plus one number."""
    gap = (clue.got - clue.expected)[torch.isfinite(clue.expected)]
    if gap.numel() < 3:
        return SILENT
    size = float(gap.mean())
    if not math.isfinite(size) or not near(gap, torch.full_like(gap, size), clue.slack):
        return None
    if near(gap, torch.zeros_like(gap), clue.slack):
        return None  # right wherever it is finite: what is wrong is not finite, and nothing was added
    return {"output": clue.name, "constant": size}


@rule("rows do not sum to 1")
def row_factor(clue: Clue) -> Seen:
    """Each row is the right one times a factor of its own: a sum that was not divided by, or wrongly."""
    got, expected = clue.got, clue.expected
    if not clue.finite or got.ndim < 2 or got.shape[-1] < 3:
        return SILENT if clue.finite or "large" in clue.outcome.case.tags else None
    norm = (expected * expected).sum(-1)
    rows = norm > 0
    if not rows.any():
        return SILENT
    factors = (got * expected).sum(-1)[rows] / norm[rows]
    low, high = float(factors.min()), float(factors.max())
    if low < 1e-4:
        return SILENT if "large" in clue.outcome.case.tags else None
    if math.isclose(low, high, rel_tol=1e-3, abs_tol=1e-6):
        return SILENT  # one factor for all is another rule's
    scale = max(1.0, abs(low), abs(high))
    if not near(got[rows], factors[:, None] * expected[rows], scale * clue.slack) or bool(got[~rows].any()):
        return None
    sums, told = expected.sum(-1)[rows], got.sum(-1)[rows]
    shares = bool(((sums - 1).abs() < 1e-3).all())
    return {
        "output": clue.name,
        "case": clue.outcome.case.name,
        "factors": (low, high),
        "sums": (float(told.min()), float(told.max())) if shares else None,
    }


@rule("permuted heads")
def permuted_heads(clue: Clue) -> Seen:
    """Every head holds the right numbers of some head, but not of its own."""
    shape = clue.got.shape
    blocks = len(shape) - 2 if len(shape) > 3 else len(shape) - 1 if len(shape) == 3 else 0
    heads = math.prod(shape[: max(blocks, 1)]) if len(shape) > 2 else 1
    if heads < 2:
        return None
    mine, right = clue.got.reshape(heads, -1), clue.expected.reshape(heads, -1)
    owners = [
        next((i for i, numbers in enumerate(right) if near(head, numbers, clue.slack)), None) for head in mine
    ]
    if None in owners or owners == list(range(heads)):
        return None
    return {"output": clue.name, "owners": tuple(owners)}


@rule("shifted")
def shifted(clue: Clue) -> Seen:
    """The right rows or columns, some places further on."""
    got, expected = clue.got, clue.expected
    for axis in range(max(0, got.ndim - 2), got.ndim):
        length = got.shape[axis]
        for by in SHIFTS:
            left = length - abs(by)
            if left < 2 or left < length / 2:
                continue
            moved = got.narrow(axis, max(by, 0), left)
            source = expected.narrow(axis, max(-by, 0), left)
            if bool((source != source.flatten()[0]).any()) and near(moved, source, clue.slack):
                what = "element" if got.ndim == 1 else "column" if axis == got.ndim - 1 else "row"
                return {"output": clue.name, "what": what, "by": by}
    return None


@rule("written twice")
def written_twice(clue: Clue) -> Seen:
    """Right where it is right, and a whole multiple elsewhere: the same share was added again."""
    allowed = clue.check.allowed
    bad = clue.bad & (clue.expected.abs() > 4 * allowed)
    if int(bad.sum()) < 4 or bool((clue.bad & ~bad).any()) or not bool((~clue.bad).any()):
        return None
    times = float((clue.got[bad] / clue.expected[bad]).median().round())
    if not 2 <= times < math.inf or not near(clue.got[bad], times * clue.expected[bad], times * clue.slack):
        return None
    return {
        "output": clue.name,
        "case": clue.outcome.case.name,
        "count": int(bad.sum()),
        "total": bad.numel(),
        "times": times,
        "first": tuple(int(i) for i in bad.nonzero()[0]),
    }


@rule("precision")
def precision(clue: Clue) -> Seen:
    """Close everywhere, but not as close as sums carried in fp32.

    In half precision «close» is measured by what goes into a sum, since what comes out may cancel.
    """
    check = clue.check
    if not check.got.dtype.is_floating_point or not clue.finite:
        return None
    scale = float(clue.expected.abs().max()) if clue.expected.numel() else 0.0
    if clue.outcome.case.dtype.itemsize == 2:
        inputs = (t for t in clue.inputs.values() if isinstance(t, torch.Tensor) and t.is_floating_point())
        scale = max(
            [scale, *(float(t.abs().max()) for t in inputs if t.numel() and bool(t.isfinite().all()))]
        )
    eps = torch.finfo(
        clue.outcome.case.dtype if clue.outcome.case.dtype.itemsize == 2 else check.got.dtype
    ).eps
    if check.error > 64 * eps * max(scale, 1e-30):
        return None
    noisy = check.error <= check.allowed
    return {
        "output": check.name,
        "error": check.error,
        "allowed": check.allowed,
        "rms_ratio": check.rms_ratio if noisy else None,
        "added": _added_in_half(clue),
    }


def _added_in_half(clue: Clue) -> str:
    """The kernel's name for a tensor of half precision that programs add to, if there is one."""
    seen = clue.outcome.observation
    for launch in seen.launches if seen is not None else ():
        for name, kind in launch.signature.items():
            if kind in ("*fp16", "*bf16") and name in seen.traffic and seen.traffic[name].atomic:
                return name
    return ""
