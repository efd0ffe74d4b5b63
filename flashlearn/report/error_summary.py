"""An output's error in one or two sentences: how many elements, how far off, where, from which program."""

from __future__ import annotations

import math

from flashlearn.later import numpy as np
from flashlearn.report.units import number, plural, times, times_the_limit

HEADS = ("batch", "head")
PLURALS = {"batch": "batches", "head": "heads", "row": "rows", "column": "columns", "element": "elements"}
NOT_FINITE, UNWRITTEN = "NaN or infinite", "never written"


def unwritten_of(ratio: np.ndarray, writers: np.ndarray | None) -> np.ndarray:
    """Elements that no program stored, unless they are right: memory from torch.zeros can be."""
    return np.zeros(ratio.shape, bool) if writers is None else (writers < 0) & ~(ratio <= 1)


def summary_of(
    ratio: np.ndarray,
    got: np.ndarray,
    expected: np.ndarray,
    writers: np.ndarray | None,
    rms: float = 0.0,
    names: tuple[str, ...] = (),
) -> str:
    """How many elements of a whole output are wrong, how far, where, and which programs stored them.

    `ratio` is |error| / allowed; `rms` is the output's root mean square error over what is allowed for that;
    `names` say what each dimension counts, in the singular: «row».
    """
    unwritten = unwritten_of(ratio, writers)
    apart = np.isnan(ratio) & ~unwritten  # one of the two numbers is NaN or infinite, or both are
    not_finite = apart & ~np.isfinite(got)
    wrong = (ratio > 1) | apart | unwritten
    count = int(wrong.sum())
    finite = np.where(unwritten | np.isnan(ratio), 0.0, ratio)
    at = np.unravel_index(int(finite.argmax()), finite.shape)
    index, largest = [int(i) for i in at], float(finite[at])
    values = f"(got {', expected '.join(_distinct_numbers(float(got[at]), float(expected[at])))})"
    if not count:
        return _none_wrong(
            wrong.size, f"{number(largest)} of it, at {index} {values}" if largest else "", rms
        )
    first = f"{count} of {plural(wrong.size, 'element')} {'is' if count == 1 else 'are'} wrong"
    if math.isinf(largest):
        first += f", the first at {index} {values}"
    elif largest > 1:
        where = f"at {index}," if count == 1 else f"the worst at {index}"
        first += f", {where} by {times(largest)} times what is allowed {values}"
    parts = [first]
    for mask, words in ((not_finite, NOT_FINITE), (unwritten, UNWRITTEN)):
        if mask.any() and int(mask.sum()) == count:
            parts[0] += f": {_all(words, count)}"
        elif mask.any():
            some = int(mask.sum())
            parts.append(f"{plural(some, 'element')} {'is' if some == 1 else 'are'} {words}")
    return ". ".join([*parts, *_owners(wrong, writers, names)]) + "."


def _distinct_numbers(got: float, expected: float) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to see that they differ."""
    for digits in (4, 6, 9):
        both = number(got, digits), number(expected, digits)
        if both[0] != both[1]:
            break
    return both


def _all(words: str, count: int) -> str:
    if words == UNWRITTEN:
        return "it was never written" if count == 1 else "none of them was ever written"
    return f"{'it is' if count == 1 else 'all of them are'} {words}"


def _none_wrong(count: int, largest: str, rms: float) -> str:
    """The summary where no element alone is too far off; `rms` over 1 says that all of them together are."""
    if rms > 1:
        return (
            f"None of the {plural(count, 'element')} is off by more than is allowed for one, but their root "
            f"mean square error is {times_the_limit(rms)} for values kept in fp32 on the way."
        )
    subject = "All elements are" if count > 1 else "Its one element is"
    return f"{subject} within what is allowed" + (f"; the largest error is {largest}." if largest else ".")


def _owners(wrong: np.ndarray, writers: np.ndarray | None, names: tuple[str, ...]) -> list[str]:
    """Which programs stored the wrong elements, where there are several."""
    if writers is None:
        return []
    every, guilty = (_numbers(writers[mask & (writers >= 0)]) for mask in (np.True_, wrong))
    if not guilty.size or every.size < 2:
        return []
    if guilty.size == every.size:
        return [f"Each of the {every.size} programs stored some of them"]
    them = "them" if int(wrong.sum()) > 1 else "it"
    if guilty.size > 1:
        return [f"{guilty.size} of {every.size} programs stored them"]
    where = _owned(np.nonzero(writers == guilty[0]), writers.shape, names)
    return [f"One of {every.size} programs stored {them}" + (f", the one that owns {where}" if where else "")]


def _owned(index: tuple[np.ndarray, ...], shape: tuple[int, ...], names: tuple[str, ...]) -> str:
    """«rows 32 to 63 of batch 0, head 1»; nothing where they form no block, or have no names.

    Dimensions that the program owns in full are left out.
    """
    ends = [(int(i.min()), int(i.max()) + 1) for i in index]
    if len(names) != len(shape) or len(index[0]) != np.prod([stop - first for first, stop in ends]):
        return ""
    spans = {
        name: f"{name} {first}" if stop == first + 1 else f"{PLURALS[name]} {first} to {stop - 1}"
        for name, (first, stop), size in zip(names, ends, shape, strict=True)
        if stop - first < size
    }
    block = " and ".join(words for name, words in spans.items() if name not in HEADS)
    return " of ".join(part for part in (block, ", ".join(spans[n] for n in HEADS if n in spans)) if part)


def _numbers(programs: np.ndarray) -> np.ndarray:
    """The distinct program numbers, by counting: sorting millions of elements takes half a second."""
    return np.flatnonzero(np.bincount(programs.ravel()))
