"""Rules about the place: which elements are wrong, and what they have in common."""

from __future__ import annotations

from flashlearn.explaining.wording.kinds import Wording, indices, kind


@kind("never written")
def never_written(output: str, case: str, count: int, total: int, first: tuple[int, ...]) -> Wording:
    """Elements that no program stored, all others right."""
    return Wording(
        f"No program writes {output}[{indices(first)}] in case {case}: {count} of {total} elements keep what "
        "torch.empty held.",
        "Do the grid and the mask of the store cover the whole output?",
    )


@kind("not finite")
def not_finite(
    output: str, case: str, count: int, total: int, first: tuple[int, ...], got: float, expected: float
) -> Wording:
    """NaN or infinity where the truth is finite."""
    return Wording(
        f"In case {case} {output}[{indices(first)}] is {got} ({count} of {total} elements are not finite), "
        f"where {expected:.3g} is right.",
        "Look for exp of a large number, ∞ − ∞ or 0/0 on the way there.",
    )


@kind("ragged tail")
def ragged_tail(output: str, case: str, first: int, axis: int | None) -> Wording:
    """Wrong only in the last, incomplete block; `axis` is None for a vector."""
    where = f"from index {first} on" if axis is None else f"from index {first} of dimension {axis} to the end"
    return Wording(
        f"{output} is right except {where}: the last block, which is not full (case {case}).",
        "Look at the masks, and at `other=` for the lanes they hide.",
    )


@kind("some heads")
def some_heads(output: str, case: str, heads: int, wrong: tuple[int, ...]) -> Wording:
    """Some heads right as a whole, others wrong."""
    return Wording(
        f"{heads - len(wrong)} of {heads} heads of {output} are right as a whole; wrong are "
        f"{_first(wrong, 8)}, batch and head counted as one number (case {case}).",
        "What differs from head to head is the offset: which strides does each pointer take for it?",
    )


@kind("some programs")
def some_programs(output: str, case: str, programs: int, guilty: tuple[int, ...]) -> Wording:
    """All that is wrong was written by few of the programs."""
    return Wording(
        f"All wrong elements of {output} were written by {len(guilty)} of {programs} programs, number "
        f"{_first(guilty, 6)} (case {case}); the others' blocks are right.",
        "What is different for these programs: first, last, ragged?",
    )


@kind("some rows")
def some_rows(output: str, case: str, count: int, total: int, first: tuple[int, ...]) -> Wording:
    """Whole rows wrong and whole rows right."""
    return Wording(
        f"{count} of {total} rows of {output} are wrong in case {case}; the first is "
        f"{output}[{indices(first)}].",
        "What do these rows have that the others do not?",
    )


def _first(numbers: tuple[int, ...], most: int) -> str:
    """The numbers, or as many of them as are worth reading."""
    return ", ".join(map(str, numbers[:most])) + (" …" if len(numbers) > most else "")
