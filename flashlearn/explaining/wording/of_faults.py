"""Faults of memory, of a launch, and of what the launcher returns: the case has said itself what was seen.

`seen` is what it said, and `case` its name.
"""

from __future__ import annotations

import math

from flashlearn.explaining.wording.kinds import Wording, joined, kind

ASTRAY = {
    "pointer": "Follow the pointer in this line back to the tensor argument that it starts from.",
    "dtype": "Which dtype does the tensor have, and which one does the pointer count in?",
    "stride": (
        "Multiply every index by the stride of its own dimension: which stride is missing here, or is "
        "another tensor's?"
    ),
    "exchanged": "Which index, and which stride, belongs to which dimension? Two have changed places.",
    "mask": ("Is each bound in the mask the size of its own dimension, and each index times its own stride?"),
    "block pointer": (
        "boundary_check keeps lanes out along the dimensions that it names; the shape given to "
        "tl.make_block_ptr says where each ends."
    ),
    "descriptor": (
        "A descriptor keeps lanes out by the shape that it was given: compare that, and its strides, with "
        "the tensor's own."
    ),
    "no mask": "A mask that is true only where the index is inside keeps the lane out.",
}
"""What to look at, by what went astray."""

STEPS = {
    "race": "Give every element one program that writes it, or add with tl.atomic_add.",
    "not_yours": "Move the computation into the kernel.",
    "todo": "",
    "crashed": "",
    "timeout": "",
    "undecided": "Do all outputs have their shapes and dtypes for other inputs too? If this stays, the fault "
    "is the course's: `flashlearn doctor` says what failed, and where to find it in full.",
    "needs_gpu": "",
    "launcher": "Return what the signature names, in that order.",
    "changed input": "Allocate a tensor of your own for what the kernel writes.",
    "returned input": "Allocate the result with torch.empty_like, and let the kernel store into it.",
    "stale answer": "Nothing may be kept from one call to the next: compute from the arguments, every time.",
    "review": "Every case passes: this alone is left to mend.",
}
"""The next step of kinds whose sentence is what the case, or a review, says."""


def _quoting(step: str):
    def quoting(seen: str, case: str = "") -> Wording:
        return Wording(seen, step, case)

    return quoting


for _name, _step in STEPS.items():
    kind(_name)(_quoting(_step))


@kind("nothing launched")
def nothing_launched(case: str) -> Wording:
    """A launcher that launches no kernel."""
    return Wording(
        "No kernel is launched: what comes back is memory that nobody has written.",
        "Launch the kernel as `kernel[grid](…)`, with a program for each part of the output.",
        case,
    )


@kind("out_of_bounds")
def out_of_bounds(seen: str, astray: str, case: str = "") -> Wording:
    """An access outside every tensor."""
    return Wording(seen, ASTRAY[astray], case)


@kind("declared fault")
def declared_fault(seen: str, sentence: str, next_step: str, case: str = "", both: bool = False) -> Wording:
    """A kernel that the exercise declares goes wrong just so; with `both`, its reason is not enough."""
    whole = joined(seen, sentence)
    return Wording(whole, next_step, case, whole if both else sentence)


@kind("masked load without other")
def masked_load(tensor: str, other: float) -> Wording:
    """`other` is a value of the hidden lanes with which every case is right."""
    value = '-float("inf")' if other == -math.inf else str(other)
    return Wording(
        f"{tensor} is loaded under a mask without other=, and the result depends on the lanes that the mask "
        "hides. What they hold is undefined; here they were NaN, on a GPU they may be anything.",
        f"Say with other= what the hidden lanes hold; with other={value} every case is right.",
    )


@kind("uninitialised memory")
def uninitialised_memory(output: str | None) -> Wording:
    """Memory from torch.empty that is taken for zeros."""
    return Wording(
        f"{output or 'The output'} depends on memory that nobody has written: the launcher takes it from "
        "torch.empty, which holds whatever was there before, and it is read or added to. With memory that "
        "happens to be zero every case is right.",
        "Allocate with torch.zeros what is added to; of all else, read only what a program has stored.",
    )
