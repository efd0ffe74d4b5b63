"""Cases that ended without numbers to compare: the case itself has said what was seen.

Each kind has the name of a `Status`; `seen` is what the case says, and `case` its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flashlearn.outcome import FindingKind, Status, Wording


@dataclass(frozen=True)
class CaseStatus(FindingKind):
    """The case's own sentence, with a next step."""

    step: ClassVar[str] = ""

    seen: str
    case: str = ""
    called: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """The sentence of the case."""
        return Wording(self.seen, self.step, self.case)


@dataclass(frozen=True)
class Todo(CaseStatus):
    """A stub that is not filled in."""

    name = "todo"


@dataclass(frozen=True)
class Crashed(CaseStatus):
    """An exception, or a fault of synchronisation, which then is what the finding is `called`."""

    name = "crashed"


@dataclass(frozen=True)
class Timeout(CaseStatus):
    """A call that took too long."""

    name = "timeout"

    def wording(self) -> Wording:
        """The sentence of the case; a loop that cannot end has a next step of its own."""
        endless = "Nothing in the loop" in self.seen
        step = "Which statement of this loop should change what its condition tests?" if endless else ""
        return Wording(self.seen, step, self.case)


@dataclass(frozen=True)
class NeedsGpu(CaseStatus):
    """A case that cannot run here."""

    name = "needs_gpu"


@dataclass(frozen=True)
class Race(CaseStatus):
    """Two programs, or lanes, that access one element, one of them with a store.

    `accesses` are the kinds of the two, "load", "store", "atomic" or "lanes"; `adds` says that the exercise
    lets programs add to one sum, in any order.
    """

    name = "race"
    memory_fault = True
    misplaced = "all"

    accesses: tuple[str, ...] = ()
    adds: bool = False

    def wording(self) -> Wording:
        """The sentence of the case, and a next step by the two accesses."""
        return Wording(self.seen, self._step(), self.case)

    def _step(self) -> str:
        if "lanes" in self.accesses:
            return "Two lanes of one program write to the same address: which index tells them apart?"
        if "atomic" in self.accesses:
            return (
                "Atomics are safe only with other atomics: all accesses of this element in the launch must "
                "be atomic, or each program needs elements of its own."
            )
        if self.adds:
            return (
                "Should the contributions of several programs be added here? That needs an atomic addition. "
                "If not, "
                "which index tells the programs apart, and by how much does it move the address?"
            )
        if "load" in self.accesses:
            return (
                "In one launch, no program may write what another reads: which index tells the two apart, "
                "and by how much does it move the address? What all programs write can be read in a second "
                "launch."
            )
        return (
            "Which program should write this element? If only one should, which index tells the two apart, "
            "and by how much does it move the address? If both contribute to it, what they contribute has "
            "to be combined."
        )


@dataclass(frozen=True)
class NotYours(CaseStatus):
    """Numbers that no kernel computed."""

    name = "not_yours"
    step = "Move the computation into the kernel."


@dataclass(frozen=True)
class Undecided(CaseStatus):
    """A check of the answer that failed by a fault of the course."""

    name = "undecided"
    beyond_cases = True
    step = (
        "Do all outputs have their shapes and dtypes for other inputs, too? If this persists, the fault is "
        "the course's: `flashlearn doctor` says what failed, and where to find it in full."
    )


@dataclass(frozen=True)
class OutOfBounds(CaseStatus):
    """An access outside every tensor; `cause` is what is wrong with it, a key of STEPS."""

    name = "out_of_bounds"
    memory_fault = True
    misplaced = "all"

    cause: str = "pointer"

    def wording(self) -> Wording:
        """The sentence of the case, and a next step by the cause."""
        early = " before the beginning of " in self.seen and self.cause in ("mask", "mask, far", "no mask")
        return Wording(self.seen, STEPS["before" if early else self.cause], self.case)


STEPS = {
    "lent": (
        "This is a kernel of the course: which tensors, lengths and strides does your code give it, and is "
        "each what its parameter stands for?"
    ),
    "pointer": "Follow the pointer in this line back to the tensor argument that it starts from.",
    "dtype": "Which dtype does the tensor have, and elements of which dtype does the pointer count?",
    "stride": (
        "Each index takes the stride of its own dimension of this tensor: which stride is missing here, or "
        "belongs to something else?"
    ),
    "exchanged": "Which index, and which stride, belongs to which dimension?",
    "subtracted": "Should the address grow with this index, or shrink?",
    "below": (
        "What is this index computed from, and should it become negative for any program and lane? If it "
        "should, what must keep those lanes out?"
    ),
    "before": (
        "From where does the pointer start, and which index of this address, or what is added to the "
        "pointer, is negative?"
    ),
    "mask": (
        "What is each index of this address computed from, what keeps it below the size of its dimension, "
        "and by which stride is it multiplied?"
    ),
    "mask, far": (
        "Is this the right tensor? If it is, what is the index of this address computed from, and what "
        "should keep it below the tensor's size?"
    ),
    "untested": (
        "This index must stay below the size of its dimension: by a condition in the mask, or by what it is "
        "computed from."
    ),
    "comparison": (
        "The last index that exists is the size of this dimension minus 1. With which size is the index "
        "compared, and is it itself let through?"
    ),
    "bound": (
        "Pointer, stride and bound must belong to the same dimension of the same tensor: which of the three "
        "does not?"
    ),
    "other index": (
        "The mask must test the index that the address uses: which of the two has to change, the mask or the "
        "address?"
    ),
    "either": "Must all of these conditions hold for a lane, or is one of them enough?",
    "precedence": "Put parentheses around each comparison.",
    "shared stride": "Each index takes the stride of its own dimension: which of the two does not?",
    "axis": "Along which axis of the grid do the programs count this index?",
    "programs": (
        "How many programs does the grid have along this axis, how many places has this dimension of the "
        "tensor, and what is counted by each?"
    ),
    "steps": "How many steps does the loop make, and how many does this dimension allow?",
    "number": "Which values does this index take over all programs, and which does the dimension allow?",
    "block pointer": (
        "boundary_check keeps lanes out along the dimensions that it names; the shape given to "
        "tl.make_block_ptr says where each ends."
    ),
    "descriptor": (
        "A descriptor keeps lanes out by the shape that it was given: compare that, and its strides, with "
        "the tensor's own."
    ),
    "no mask": (
        "Is this the right tensor, and the right index? If both are, a mask must leave out the lanes that "
        "lie outside."
    ),
    "one element": (
        "Is this the right tensor, and the right index? If both are, should this program access it at all?"
    ),
}
"""What to look at, by what went wrong in an access out of bounds."""

BY_STATUS: dict[Status, type[CaseStatus]] = {
    Status[kind.name.upper()]: kind
    for kind in (Todo, Crashed, Timeout, OutOfBounds, Race, NotYours, Undecided, NeedsGpu)
}
"""The kind for each status that ends a check without wrong numbers."""
