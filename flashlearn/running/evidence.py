"""What one run of a learner's function gave: plain data, which knows nothing of right and wrong.

It can be pickled and sent over a pipe: tensors on the CPU, arrays, numbers, text, and records of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flashlearn.later import torch
from flashlearn.observation import Observation
from flashlearn.outcome import Place, Status

if TYPE_CHECKING:
    from flashlearn.compiler.lowering import FrontEndRefusal
    from flashlearn.machine.timers import Measurement


@dataclass(frozen=True)
class Raised:
    """What ended a call: the exception's class, its own message (`text`), and the `sentence` said of it.

    `sentence` and `place` speak to the learner; `fault` is the exception's own, where it has one. `wanted`
    are the bytes of GPU memory that a call held and asked for when there was too little.
    """

    kind: str
    text: str
    status: Status
    sentence: str
    place: Place | None = None
    fault: tuple = ()
    wanted: int = 0


@dataclass(frozen=True)
class ObservedRace:
    """The first race of a call. `owner` is the input it happened in, an output's number, or "scratch"."""

    sentence: str
    place: Place | None
    fault: tuple
    owner: str | int


@dataclass(frozen=True)
class Foreign:
    """Something that is no data: a generator, an open file, a function. What can be said of it."""

    type: str
    module: str
    text: str
    name: str = ""
    shape: tuple[int, ...] | None = None
    calls: str = ""
    """How it can be called: "class", "routine", "object"; nothing if it cannot."""
    iterates: bool = False


@dataclass(frozen=True)
class Output:
    """One returned value. `value` is a tensor on the CPU with its strides, or other plain data, or `Foreign`.

    `writers[i]` is the number of the program that stored element i, −1 if none; None where that is unknown.
    `memory_of` names the input whose memory it is. `made_by` says who computed it, as the observer saw it:
    "" for the learner's kernels, else one of those of flashlearn.running.provenance, with `copied` the tensor
    that held it before, or, where it was not the `whole` of it, what a factor and a constant make it. It is
    `kept` if an earlier call had returned the same memory.
    """

    value: Any
    writers: torch.Tensor | None = None
    memory_of: str = ""
    requires_grad: bool = False
    made_by: str = ""
    copied: str = ""
    whole: bool = True
    kept: bool = False


class Interrupted(Exception):
    """A call that has to complete ended before it returned; `raised` says how."""

    def __init__(self, raised: Raised):
        super().__init__(raised.sentence)
        self.raised = raised


Action = tuple[str, Place | None]
"""Something torch did in the launcher, and where."""


@dataclass(frozen=True)
class Evidence:
    """One run. `returned` is what came back, as plain data; `outputs` the same with what is known of each.

    Of an observed run: `observation`, `race`, `changed` (names of inputs that are not as they were),
    `forbidden` and `arithmetic` (what torch computed in the launcher). `observations` has what each observer
    saw, by its class: an entry for every one that the run mode asked for. `refusals` are what triton's front
    end does not take of the launches so far, where that was asked. `saved` says that something was kept for a
    backward pass. Of a compiled run: `observation` has the launches, `trespass` is a sentence on guard zones.
    Of a timed one: `own` are the function's figures, `peers` those of its peers that
    there are here. `seconds` are by the clock, `processor` those of the thread that ran it, `asleep` those in
    which it neither worked nor stood in line for a processor, as far as that is known. `accesses` is the
    work of an edited run, which is not observed otherwise, also where it ended early; in one of a formula
    `turns` are those of its `while` loops.
    """

    returned: Any = None
    outputs: tuple[Output, ...] = ()
    raised: Raised | None = None
    observation: Observation | None = None
    race: ObservedRace | None = None
    changed: tuple[str, ...] = ()
    forbidden: tuple[Action, ...] = ()
    arithmetic: tuple[Action, ...] = ()
    observations: Mapping[type, Any] = field(default_factory=dict)
    refusals: tuple[FrontEndRefusal, ...] = ()
    saved: bool = False
    trespass: str = ""
    own: Measurement | None = None
    peers: Mapping[str, Measurement] = field(default_factory=dict)
    seconds: float = 0.0
    processor: float = 0.0
    asleep: float = 0.0
    accesses: int = 0
    turns: int = 0

    @property
    def values(self) -> tuple[Any, ...]:
        """The outputs' values."""
        return tuple(output.value for output in self.outputs)

    def completed(self) -> Evidence:
        """The same, of a call that came to its end. Raises Interrupted for any other."""
        if self.raised is not None:
            raise Interrupted(self.raised)
        return self
