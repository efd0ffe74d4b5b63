"""Names that a label may use, and how a finding is compared with a label."""

from __future__ import annotations

from collections.abc import Iterable

from flashlearn.interpreter.gluon import fault_kinds

STATUS_NAMES = frozenset({"out_of_bounds", "race", "not_yours", "crashed", "timeout"})

VAGUE_NAMES = frozenset(
    {
        "some rows",
        "not finite",
        "some programs",
        "some heads",
        "ragged tail",
        "diagonal tiles",
        "shape",
        "explained",
        "first divergence",
    }
)
"""Findings that say where or what was observed; as a diagnosis they count only where a label lists them."""

WANTED_NAMES = frozenset({"state not reset", "LSE of empty rows is 0", "the change of unit is upside down"})
"""What a teacher would call some mistakes that neither an exercise nor a rule can name yet."""

GENERIC_NAMES = (
    STATUS_NAMES
    | VAGUE_NAMES
    | WANTED_NAMES
    | frozenset(fault_kinds.KINDS)  # synchronisation faults of Gluon kernels
    | frozenset(
        {
            # of the launcher
            "launcher",
            "changed input",
            "returned input",
            "stale answer",
            "unused strides",
            "outputs exchanged",
            # of memory
            "never written",
            "masked load without other",
            "uninitialised memory",
            "written twice",
            "changes from run to run",
            # of the values
            "inf minus inf",
            "zero over zero",
            "overflow",
            "sign",
            "zero everywhere",
            "finite in place of −∞",
            "nearly zero everywhere",
            "nothing launched",
            "constant factor",
            "added constant",
            "transposed",
            "stored with other strides",
            "stored row by row",
            "permuted heads",
            "shifted",
            "precision",
            "rows do not sum to 1",
            # of the place
            "leak from the future",
            "first tile missing",
            "last tile missing",
            "not rescaled",
            # of symbolic answers
            "swapped",
            "arguments exchanged",
            "wrong type",
            "wrong shape",
            "unevaluated",
            "unknown symbol",
            "undefined",
            "zero",
            "factor",
            "index range",
            "constant offset",
            "missing diagonal",
            "missing off-diagonal",
            "transposed and sign",
            # of what was read, and what was kept
            "never read",
            "only the first tile",
            "only the last tile",
            "tiles counted twice",
            "kept between calls",
            # origins of a NaN or an infinity
            "inf over inf",
            "zero times inf",
            "division by zero",
            "outside the domain",
            "log of zero",
            "review",
            "32-bit offset",
            "grid axis too short",
            # an edit that was tried, and makes every case right
            "one edit",
        }
    )
)
"""What the grader may name besides an exercise's declared mistakes; "A + B" combines any two."""


def parts(name: str) -> frozenset[str]:
    """The names of a combination as a label writes it: "A + B" → {A, B}."""
    name = name.replace("LSE is m + l", "LSE is m, plus l")  # one name, which has a plus of its own
    return frozenset(part.strip().replace(", plus ", " + ") for part in name.split(" + "))


def accepts(label: Iterable[str], found: Iterable[str]) -> bool:
    """Whether the names of a finding are one of the label's, or a combination that adds others of them.

    The order of a combination does not matter.
    """
    names, listed = frozenset(found), [parts(name) for name in label]
    return any(one <= names for one in listed) and names <= frozenset().union(*listed)
