"""What the observer saw while a launcher ran: places, cautions, traffic, launches, a timeline. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Place:
    """A line of the learner's code, and the program that was running it if there was one.

    `calls` are the learner's lines from which its function was called, the nearest first.
    """

    file: str
    line: int
    text: str
    function: str = ""
    program: tuple[int, int, int] | None = None
    calls: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Caution:
    """What would fail, or go less well, on a GPU though it passes here: its kind, a sentence, the line."""

    kind: str
    sentence: str
    place: Place | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Compiling:
    """How far compiling has come: so many kernels are done, of so many that are known."""

    done: int
    kernels: int


@dataclass
class Traffic:
    """Bytes that moved between one tensor and the programs.

    `loaded` and `stored` are requested bytes (masked-out lanes do not count, re-reads do);
    `unique_loaded` and `unique_stored` count each byte once. `atomic` bytes are in neither of the first two;
    of the unique ones, they are among those stored.
    """

    loaded: int = 0
    stored: int = 0
    atomic: int = 0
    unique_loaded: int = 0
    unique_stored: int = 0


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: enough to compile it again for a GPU that is not here.

    `kernel` is the object that was launched, or None where `job` is what a compiler needs of it (or
    `unshippable` the sentence why it cannot have that); `signature` maps parameter names to triton types
    ("*fp32", "i32", "fp32"), `constexprs` to values; `seconds` is the observed run's time;
    `divisible` names the pointers and integers that are multiples of 16. `specialised` is the launch as
    triton binds it, where the kernel is; `variant` the number of what it compiles to, equal for equal ones.
    """

    kernel: Any
    name: str
    grid: tuple[int, int, int]
    signature: dict[str, str]
    constexprs: dict[str, Any]
    options: dict[str, Any]
    seconds: float = 0.0
    divisible: frozenset[str] = frozenset()
    job: dict[str, Any] | None = None
    unshippable: str = ""
    specialised: Any = None
    variant: int = -1

    def __getstate__(self) -> dict[str, Any]:
        """A kernel stays in its process: what is pickled says what was launched, and cannot launch it."""
        return {**self.__dict__, "kernel": None, "specialised": None}


@dataclass(frozen=True)
class TimelineEvent:
    """Something that a partition did, or had done for it, from `begin` to `end` in cycles of the model.

    `what` is one of `WHATS` in flashlearn.interpreter.gluon.timeline. An asynchronous one ("tma load",
    "tma store", "wgmma", "cp.async") begins when the hardware begins it and ends when it is done; `issued` is
    when the partition asked for it. `barrier` and `buffer` are names as the kernel has them, with an index:
    "full[1]". `phase` counts a barrier's phases from 0. `after` are the numbers of the events that it had to
    wait for: of a wait, the arrivals and copies that completed the phase; of a wgmma's wait, the product.
    `launch` and `program` say whose it is.
    `index` is the partition's number: 0 is the one that the kernel itself goes on as.
    `special` are the cycles that a "compute" needs of the units for exponentials, if it has them to itself.
    """

    number: int
    launch: int
    program: tuple[int, int, int]
    partition: str
    what: str
    begin: float
    end: float
    place: Place | None = None
    issued: float = 0.0
    barrier: str = ""
    buffer: str = ""
    phase: int = -1
    bytes: int = 0
    after: tuple[int, ...] = ()
    index: int = 0
    special: float = 0.0


@dataclass
class Observation:
    """The sum of a check's observed launches.

    `traffic` is by parameter name of the kernels, `tensors` by tensor: one that kernels have under several
    names has one row there, so that no byte is in two. `operations` counts scalar operations by kind:
    "dot" (2·M·N·K each), "elementwise", "reduce", "special" (exp, log, sqrt, …). `undefined_loads`
    are the masked loads without `other=` (tensor, place): what their hidden lanes hold is undefined.
    `unread` marks, by input, the elements that no program loaded; inputs that no program touched are not
    in it, since a launcher may have copied them.
    `timeline` is what Gluon kernels did when, by a model of time.
    `in_torch` counts the elements that torch computed or moved outside of kernels, by operation, and of
    products the pairs that they multiply.
    `accesses` counts the loads, stores and atomics of all programs, each whole tile as one.
    `warnings` are what was seen that another machine may not forgive, once per kind and line.
    """

    traffic: dict[str, Traffic] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    warnings: list[Caution] = field(default_factory=list)
    undefined_loads: list[tuple[str, Place | None]] = field(default_factory=list)
    unread: dict[str, Any] = field(default_factory=dict)
    in_torch: dict[str, int] = field(default_factory=dict)
    accesses: int = 0
    timeline: tuple[TimelineEvent, ...] = ()
    tensors: dict[str, Traffic] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = self.tensors or self.traffic

    @property
    def bytes_requested(self) -> int:
        """Bytes loaded and stored, re-reads counted: an upper bound on what memory moves."""
        return sum(t.loaded + t.stored + t.atomic for t in self.traffic.values())

    @property
    def bytes_unique(self) -> int:
        """Each byte counted once: what memory must move at least."""
        return sum(t.unique_loaded + t.unique_stored for t in self.tensors.values())

    @property
    def total_operations(self) -> int:
        """All scalar operations the programs computed."""
        return sum(self.operations.values())
