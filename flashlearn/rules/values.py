"""Rules about the numbers: the right ones in another order, of another size, or too coarse."""

from __future__ import annotations

import math

import torch

from flashlearn.outcome import Finding
from flashlearn.rules.clue import SILENT, Clue, Said, near

SHIFTS = (1, -1, 16, -16, 32, -32, 64, -64, 128, -128)


def shape(clue: Clue) -> Said:
    """A wrong shape, dtype or type: nothing else can be said before it is right."""
    problem = clue.check.problem
    if not problem:
        return None
    what = "dtype" if "dtype" in problem else "shape"
    step = f"Look at where {clue.name} is allocated: which {what} does the exercise ask for?"
    if " is None" in problem:
        step = f"Return {', '.join(clue.exercise.outputs)}, in this order."
    elif what == "shape" and len(clue.exercise.outputs) > 1:
        step = f"Is {', '.join(clue.exercise.outputs)} the order in which they are returned? {step}"
    return Finding("shape", f"{problem} (case {clue.outcome.case.name}).", step)


def exchanged(clue: Clue) -> Said:
    """Another output's right numbers."""
    for other in clue.outcome.outputs:
        if other.name == clue.name or other.ok or not isinstance(other.expected, torch.Tensor):
            continue
        if clue.close(clue.got, other.expected.double()):
            sentence = f"{clue.name} holds what belongs into {other.name}."
            step = f"Return {', '.join(clue.exercise.outputs)} in this order; look at the stores, too."
            return Finding("outputs exchanged", sentence, step)
    return None


def sign(clue: Clue) -> Said:
    """The right numbers with the other sign."""
    if clue.close(-clue.got):
        step = "Where does the formula have a minus? Follow it from the loads to the store."
        return Finding("sign", f"{clue.name} has the right size and the opposite sign.", step)
    return None


def transposed(clue: Clue) -> Said:
    """The right matrix, rows and columns exchanged."""
    got = clue.got
    if got.ndim < 2 or got.shape[-1] < 2 or got.shape[-2] < 2:
        return SILENT
    if got.shape[-1] != got.shape[-2]:
        return None
    if clue.close(got.transpose(-1, -2)):
        step = (
            "Which of the two indices counts rows? Compare the last product and the store with the formula."
        )
        return Finding("transposed", f"{clue.name} is the transpose of the right answer.", step)
    return None


def constant_factor(clue: Clue) -> Said:
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
    sentence = f"{clue.name} is {factor:.4g} times the right answer, everywhere."
    step = "Which factor of the formula is missing, or is there once too often?"
    return Finding("constant factor", sentence, step, evidence={"factor": factor})


def added_constant(clue: Clue) -> Said:
    """The right answer plus one number."""
    gap = (clue.got - clue.expected)[torch.isfinite(clue.expected)]
    if gap.numel() < 3:
        return SILENT
    size = float(gap.mean())
    if not math.isfinite(size) or not near(gap, torch.full_like(gap, size), clue.slack):
        return None
    if near(gap, torch.zeros_like(gap), clue.slack):
        return None  # right wherever it is finite: what is wrong is not finite, and nothing was added
    sentence = f"{clue.name} is the right answer plus {size:.4g}, everywhere."
    step = "Which term of the formula is missing, or is there once too often?"
    return Finding("added constant", sentence, step, evidence={"constant": size})


def row_factor(clue: Clue) -> Said:
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
    sums = expected.sum(-1)[rows]
    if bool(((sums - 1).abs() < 1e-3).all()):
        told = got.sum(-1)[rows]
        sentence = (
            f"The rows of {clue.name} sum to {float(told.min()):.3g} … {float(told.max()):.3g} (case "
            f"{clue.outcome.case.name}), not to 1; within a row the shares are right. So the number that a "
            "row is divided by is wrong."
        )
        return Finding("rows do not sum to 1", sentence, "Which elements does the sum of a row see?")
    sentence = (
        f"Each row of {clue.name} is the right one times a factor of its own, {low:.3g} to {high:.3g} (case "
        f"{clue.outcome.case.name}): a number that belongs to the whole row is wrong, and everything "
        "else is right."
    )
    return Finding("rows do not sum to 1", sentence, "Which number does the kernel have once per row?")


def permuted_heads(clue: Clue) -> Said:
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
    if len(set(owners)) == 1:
        sentence = f"Every head of {clue.name} holds the numbers of head {owners[0]} of {heads}."
    else:
        sentence = f"The heads of {clue.name} are in another order: head 0 to {heads - 1} hold {owners}."
    step = "How does the kernel get from its program id to batch and head, and with which strides?"
    return Finding("permuted heads", sentence, step)


def shifted(clue: Clue) -> Said:
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
                what = "elements" if got.ndim == 1 else "columns" if axis == got.ndim - 1 else "rows"
                origin = f"i − {by}" if by > 0 else f"i + {-by}"
                sentence = (
                    f"{clue.name} holds the right {what} in the wrong place: {what[:-1]} i holds {origin}."
                )
                step = "Compare the indices of the loads with those of the store."
                return Finding("shifted", sentence, step)
    return None


def written_twice(clue: Clue) -> Said:
    """Right where it is right, and a whole multiple elsewhere: the same share was added again."""
    allowed = clue.check.allowed
    bad = clue.bad & (clue.expected.abs() > 4 * allowed)
    if int(bad.sum()) < 4 or bool((clue.bad & ~bad).any()) or not bool((~clue.bad).any()):
        return None
    times = float((clue.got[bad] / clue.expected[bad]).median().round())
    if times < 2 or not near(clue.got[bad], times * clue.expected[bad], times * clue.slack):
        return None
    first = [int(i) for i in bad.nonzero()[0]]
    sentence = (
        f"{int(bad.sum())} of {bad.numel()} elements of {clue.name} hold {times:.0f} times the right number "
        f"in case {clue.outcome.case.name}, the first at {first}; the others are right. The "
        f"same share was added {times:.0f} times there."
    )
    step = "Which programs, or which steps of the loop, add to this element?"
    return Finding("written twice", sentence, step)


def precision(clue: Clue) -> Said:
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
    how = f"off by {check.error:.2g} where {check.allowed:.2g} is allowed"
    if check.error <= check.allowed:
        how = f"its rms error is {check.rms_ratio:.2f} times what a sum carried in fp32 may have"
    sentence = f"{check.name} is close but too coarse: {how}, as if a sum were carried in half precision."
    return Finding("precision", sentence, "Convert to tl.float32 after loading, and back only when storing.")
